// SPDX-License-Identifier: Apache-2.0
// Output of ibnetdiscover (infiniband-diags) and net files of ibsim.
#include <utility>

#include "topo/import/ib_fabric.hpp"
#include "topo/import/ib_records.hpp"
#include "topo/import/readers.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

// iblinkinfo prints the same fabric in another form: CA: … ==( 4X 25.78125 Gbps …)==>
bool iblinkinfo(std::string_view head) noexcept { return head.find("==(") != std::string_view::npos; }

// A line that begins with the word, then a number and a quote: Switch⇥65 "S-…".
bool has_record(std::string_view head, std::string_view word) noexcept {
    for (std::size_t at = head.find(word); at != std::string_view::npos; at = head.find(word, at + 1)) {
        if (at > 0 && head[at - 1] != '\n') continue;
        std::size_t i = at + word.size();
        const std::size_t blanks = i;
        while (i < head.size() && (head[i] == ' ' || head[i] == '\t')) ++i;
        if (i == blanks) continue;
        const std::size_t digits = i;
        while (i < head.size() && head[i] >= '0' && head[i] <= '9') ++i;
        if (i == digits) continue;
        while (i < head.size() && (head[i] == ' ' || head[i] == '\t')) ++i;
        if (i < head.size() && head[i] == '"') return true;
    }
    return false;
}

}  // namespace

bool looks_like_ibnetdiscover(std::string_view head) noexcept {
    return has_record(head, "Switch") || has_record(head, "Ca") || has_record(head, "Hca") ||
           (iblinkinfo(head) &&
            (head.find("CA:") != std::string_view::npos || head.find("Switch:") != std::string_view::npos));
}

result<import_output> read_ibnetdiscover(std::string_view text, const std::string& file, const import_options&) {
    if (iblinkinfo(text.substr(0, 64u << 10)))
        return text::bad(file, "this is the output of iblinkinfo",
                         "run ibnetdiscover on the same host and import its output");
    import_output out;
    auto net = read_ib_records(text, file, out.notes);
    if (!net) return net.failure();
    if (net->nodes.empty())
        return text::bad(file, "no Switch or Ca record stands in the file",
                         "import the complete output of ibnetdiscover");
    auto fabric = ib_fabric(*net, file, out.notes);
    if (!fabric) return fabric.failure();
    out.fabric = std::move(*fabric);
    return out;
}

}  // namespace topo
