// SPDX-License-Identifier: Apache-2.0
#include "topo/import/import.hpp"

#include <algorithm>
#include <array>
#include <exception>
#include <new>
#include <utility>

#include "topo/file.hpp"
#include "topo/import/readers.hpp"
#include "topo/import/text.hpp"
#include "topo/quote.hpp"
#include "topo/utf8.hpp"

namespace topo {
namespace {

constexpr std::size_t head_bytes = 64u << 10;

struct reader {
    format kind;
    std::string_view name;
    std::string_view shown;
    bool (*looks)(std::string_view) noexcept;
    result<import_output> (*read)(std::string_view, const std::string&, const import_options&);
};

// In the order they are tried: marks that nothing else can carry come first.
constexpr std::array<reader, 9> readers = {{
    {format::nccl_xml, "nccl-xml", "NCCL topology XML", looks_like_nccl_xml, read_nccl_xml},
    {format::hwloc_xml, "hwloc-xml", "hwloc XML", looks_like_hwloc_xml, read_hwloc_xml},
    {format::nvidia_smi, "nvidia-smi", "nvidia-smi topo -m", looks_like_nvidia_smi, read_nvidia_smi},
    {format::nvbandwidth, "nvbandwidth", "nvbandwidth", looks_like_nvbandwidth, read_nvbandwidth},
    {format::p2p, "p2p", "p2pBandwidthLatencyTest", looks_like_p2p, read_p2p},
    {format::ibnetdiscover, "ibnetdiscover", "ibnetdiscover", looks_like_ibnetdiscover, read_ibnetdiscover},
    {format::topograph, "topograph", "topograph model", looks_like_topograph, read_topograph},
    {format::slurm_topology, "slurm-topology", "Slurm topology", looks_like_slurm_topology, read_slurm_topology},
    {format::slurm_gres, "slurm-gres", "Slurm gres.conf", looks_like_slurm_gres, read_slurm_gres},
}};

constexpr std::array<format, 9> format_list = {format::nvidia_smi,     format::nccl_xml,    format::hwloc_xml,
                                               format::slurm_topology, format::slurm_gres,  format::ibnetdiscover,
                                               format::topograph,      format::nvbandwidth, format::p2p};

// Text that people try, which holds no topology or matrix that could be imported.
struct stranger {
    std::string_view mark;
    std::string_view what;
};
constexpr std::array<stranger, 10> strangers = {{
    {"# System topology:", "a table of ucx_info -T, which UCX estimates from sysfs"},
    {"NCCL INFO", "a log of nccl-tests, which times collectives, not pairs"},
    {"out-of-place", "a log of nccl-tests, which times collectives, not pairs"},
    {"RDMA_Write BW Test", "the output of one perftest run (ib_write_bw)"},
    {"RDMA_Read BW Test", "the output of one perftest run (ib_read_bw)"},
    {"bandwidthTest-", "the output of CUDA's bandwidthTest for one GPU"},
    {"_to_gpu0_", "the list of gpu_copy_bw"},
    {"port_xmit_data", "a table of port counters"},
    {"\"nvbandwidth\"", "the JSON of nvbandwidth -j (only the matrices it prints without -j are read)"},
    {"apiVersion: atoll/", "one of Atoll's own files, which needs no import"},
}};

std::string known_formats() {
    std::string list;
    for (const format f : format_list) list += (list.empty() ? "" : ", ") + std::string(name_of(f));
    return list;
}

error unknown_content(std::string_view text, const std::string& file) {
    const std::string_view head = text.substr(0, head_bytes);
    std::string what = "the content is of no format that can be imported";
    for (const auto& s : strangers)
        if (head.find(s.mark) != std::string_view::npos) {
            what = "this is " + std::string(s.what) + ": it cannot be imported";
            break;
        }
    return text::bad(file, what, "give a file of one of these formats, or name it with --from: " + known_formats());
}

// strict: the first warning, wherever a reader put it, is the error.
const finding* first_warning(const import_output& out) noexcept {
    const auto in = [](const findings& notes) -> const finding* {
        for (const auto& f : notes)
            if (f.level != severity::info) return &f;
        return nullptr;
    };
    if (const auto* f = in(out.notes)) return f;
    for (const auto& n : out.nodes)
        if (const auto* f = in(n.notes)) return f;
    return nullptr;
}

// What a reader let through and Atoll's own files would refuse, such as one PCI address for two devices: refused here,
// so that no file is written that cannot be read again. A node with more devices than placement takes is read and
// shown; it is refused where it would be used.
std::optional<error> unsound(const import_output& out, const std::string& file) {
    const auto first = [&](const findings& faults) -> std::optional<error> {
        for (const auto& f : faults)
            if (f.level == severity::error)
                return error{errc::bad_input, file, f.where.empty() ? f.what : f.where + ": " + f.what, f.remedy};
        return std::nullopt;
    };
    for (const auto& n : out.nodes) {
        if (n.hardware.gpus.size() > max_gpus_per_node || n.hardware.nics.size() > max_nics_per_node) continue;
        if (auto fault = first(check(n.hardware))) return fault;
    }
    return out.fabric ? first(check(*out.fabric)) : std::nullopt;
}

result<import_output> read_as(const reader& r, std::string_view text, const std::string& file,
                              const import_options& options) {
    auto got = r.read(text, file, options);
    if (!got) return got;
    got->kind = r.kind;
    if (auto fault = unsound(*got, file)) return *std::move(fault);
    if (!options.strict) return got;
    if (const finding* f = first_warning(*got))
        return error{errc::refused, f->where, f->what, f->remedy.empty() ? "import without --strict" : f->remedy};
    return got;
}

}  // namespace

std::string_view name_of(format f) noexcept {
    for (const auto& r : readers)
        if (r.kind == f) return r.name;
    return "auto";
}

std::optional<format> format_named(std::string_view text) noexcept {
    if (text == "auto") return format::automatic;
    for (const auto& r : readers)
        if (r.name == text) return r.kind;
    return std::nullopt;
}

std::span<const format> all_formats() noexcept { return format_list; }

format detect_format(std::string_view text) noexcept {
    const std::string_view head = text.substr(0, head_bytes);
    if (text::binary(head)) return format::automatic;
    for (const auto& r : readers)
        if (r.looks(head)) return r.kind;
    return format::automatic;
}

result<import_output> import_text(std::string_view text, const std::string& file, format kind,
                                  const import_options& options) {
    try {
        if (text.size() > max_file_bytes)
            return error{
                errc::limit, file,
                "the file has " + std::to_string(text.size()) + " bytes, more than " + std::to_string(max_file_bytes),
                "import the part that describes one node or one fabric"};
        if (text::trim(text.substr(0, 4096)).empty() &&
            text::trim(text).find_first_not_of("\n") == std::string_view::npos)
            return text::bad(file, "the file is empty", "import the complete output of the tool");
        if (text::binary(text))
            return text::bad(file, "the file is binary, not text", "import text in one of: " + known_formats());
        if (auto sound = check_utf8(text, file); !sound) return sound.failure();
        if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
        if (kind == format::automatic) kind = detect_format(text);
        const auto r = std::find_if(readers.begin(), readers.end(), [&](const reader& x) { return x.kind == kind; });
        if (r == readers.end()) return unknown_content(text, file);
        return read_as(*r, text, file, options);
    } catch (const std::bad_alloc&) {
        return error{errc::limit, file, "too little memory to read it", "import a smaller file"};
    } catch (const std::exception& e) {
        return text::bad(file, "the content cannot be read: " + text::shown(e.what(), longest_sentence),
                         "check that the file is complete");
    }
}

}  // namespace topo
