// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/health_source.hpp"

#include <charconv>

#include "topo/file.hpp"
#include "topo/quote.hpp"

namespace kube {
namespace {

constexpr std::size_t most_lines = 10'000;

std::string_view word_of(std::string_view& rest) {
    const std::size_t start = rest.find_first_not_of(" \t\r");
    if (start == std::string_view::npos) {
        rest = {};
        return {};
    }
    const std::size_t end = std::min(rest.find_first_of(" \t\r", start), rest.size());
    const std::string_view word = rest.substr(start, end - start);
    rest.remove_prefix(end);
    return word;
}

class file_source final : public health_source {
public:
    explicit file_source(std::string path) : path_(std::move(path)) {}
    topo::result<std::vector<fault>> look(const inventory& node) override {
        const auto text = topo::read_file(path_, 1u << 20);
        if (text) return parse_faults(*text, path_, node);
        if (text.failure().code == topo::errc::missing) return std::vector<fault>{};
        return text.failure();
    }

private:
    std::string path_;
};

}  // namespace

topo::result<std::vector<fault>> parse_faults(std::string_view text, const std::string& file, const inventory& node) {
    std::vector<fault> out;
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        std::string_view line = text.substr(at, end - at);
        at = end + 1;
        const auto bad = [&](const std::string& what) {
            return topo::error{topo::errc::bad_input, file + ":" + std::to_string(number), what,
                               "write ID REASON, as in GPU-1234 xid 79"};
        };
        if (++number > most_lines) return bad("more than 10000 lines");
        line = line.substr(0, line.find('#'));
        line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
        const std::string_view id = word_of(line);
        if (id.empty()) continue;
        const std::string_view kind = word_of(line);
        if (kind.empty()) return bad("no reason after '" + topo::shown(id) + "'");
        fault f;
        for (std::size_t g = 0; g < node.hardware().gpus.size(); ++g)
            if (id == node.parts(g).id || id == node.hardware().gpus[g].name) f.gpu = node.parts(g).id;
        if (f.gpu.empty()) return bad("this node has no GPU '" + topo::shown(id) + "'");
        if (kind == "xid") {
            const std::string_view digits = word_of(line);
            const auto [stop, code] = std::from_chars(digits.data(), digits.data() + digits.size(), f.xid);
            if (code != std::errc{} || stop != digits.data() + digits.size()) return bad("no number after xid");
            f.kind = fault_kind::xid;
        } else if (kind == "ecc") {
            f.kind = fault_kind::ecc;
        } else if (kind == "nvlink") {
            f.kind = fault_kind::nvlink;
        } else if (kind == "nic") {
            f.kind = fault_kind::nic;
        } else if (kind == "lost") {
            f.kind = fault_kind::lost;
        } else {
            f.detail = topo::shown(kind);
        }
        const std::size_t start = line.find_first_not_of(" \t\r");
        if (start != std::string_view::npos)
            f.detail += (f.detail.empty() ? "" : " ") + topo::shown(line.substr(start), 200);
        out.push_back(std::move(f));
    }
    return out;
}

std::unique_ptr<health_source> file_health_source(std::string path) {
    return std::make_unique<file_source>(std::move(path));
}

std::unique_ptr<health_source> make_health_source(const settings& s) {
    switch (s.health) {
        case health_kind::none: return nullptr;
        case health_kind::file: return file_health_source(s.health_file);
        case health_kind::nvml: return nvml_health_source();
        case health_kind::automatic: break;
    }
    if (!s.health_file.empty()) return file_health_source(s.health_file);
    return nvml_present() ? nvml_health_source() : nullptr;
}

}  // namespace kube
