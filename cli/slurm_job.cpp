// SPDX-License-Identifier: Apache-2.0
#include "cli/slurm_job.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <charconv>
#include <filesystem>
#include <memory>

#include "topo/hostlist.hpp"
#include "topo/id_set.hpp"
#include "topo/quote.hpp"

namespace cli {
namespace {

using placement::gpu_mask;
using placement::node_share;

constexpr const char* client_file = "atoll_slurm_client.so";

topo::error bad(std::string where, std::string what, std::string remedy) {
    return {topo::errc::bad_input, std::move(where), std::move(what), std::move(remedy)};
}

topo::result<gpu_mask> mask_of(std::string_view list) {
    const auto ids = topo::id_set::parse(list);
    if (!ids || (!ids->empty() && ids->last() >= topo::max_gpus_per_node))
        return bad(
            "",
            fmt::format("'{}' is no list of GPU numbers from 0 to {}", topo::shown(list), topo::max_gpus_per_node - 1),
            "write it as 0-3,6");
    gpu_mask out = 0;
    for (const std::uint32_t id : ids->ids()) out |= gpu_mask{1} << id;
    return out;
}

topo::result<node_share> share_of(const std::string& host, gpu_mask gpus, const topo::cluster& c) {
    const auto node = c.find(host);
    if (!node)
        return topo::error{topo::errc::missing, topo::shown(host), "this node of the job is not in the cluster file",
                           "calibrate it and add it with atoll merge"};
    const std::size_t has = c.class_of(*node).gpus.size();
    if (gpus == 0) return bad(host, "the job has no GPU there", "ask for GPUs on every node");
    if ((gpus & ~topo::first_gpus(has)) != 0)
        return bad(host, fmt::format("the job has a GPU that the cluster file does not know; its class has {}", has),
                   "calibrate the node again and merge");
    return node_share{*node, gpus};
}

topo::result<std::vector<std::string>> hosts_of(const std::string& list) {
    auto hosts = topo::expand_hostlist(list);
    if (!hosts) return bad("nodes of the job", topo::hostlist_fault(list, hosts.failure()), "give a list of hosts");
    return hosts;
}

// Every node of the list with all its GPUs, when each has exactly `each`.
std::optional<std::vector<node_share>> all_gpus(const std::vector<std::string>& hosts, std::string_view each,
                                                const topo::cluster& c) {
    const std::size_t colon = each.rfind(':');  // "a100:8"
    if (colon != std::string_view::npos) each.remove_prefix(colon + 1);
    std::size_t wanted = 0;
    const auto [end, fault] = std::from_chars(each.data(), each.data() + each.size(), wanted);
    if (fault != std::errc{} || end != each.data() + each.size() || wanted == 0) return std::nullopt;
    std::vector<node_share> out;
    for (const std::string& host : hosts) {
        const auto node = c.find(host);
        if (!node || c.class_of(*node).gpus.size() != wanted) return std::nullopt;
        out.push_back({*node, topo::first_gpus(wanted)});
    }
    return out;
}

// The client lies beside the programs' libraries: ../lib or ../lib/atoll of this program, or where docs/slurm.md says.
std::vector<std::filesystem::path> client_places() {
    std::error_code ignored;
    const auto here = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    return {here / "../lib" / client_file, here / "../lib/atoll" / client_file,
            std::filesystem::path("/usr/local/lib/atoll") / client_file};
}

struct closer {
    void operator()(void* handle) const noexcept { ::dlclose(handle); }
};

void give(void* to, const char* nodes, const char* const* gres, std::uint32_t count) {
    auto& job = *static_cast<slurm_job*>(to);
    job.nodes = nodes != nullptr ? nodes : "";
    for (std::uint32_t i = 0; i < count; ++i) job.gres.emplace_back(gres[i] != nullptr ? gres[i] : "");
}

}  // namespace

topo::result<gpu_mask> gpus_of_gres(std::string_view line) {
    gpu_mask out = 0;
    while (!line.empty()) {
        // A comma inside the brackets belongs to the list of indices.
        std::size_t end = line.find_first_of(",(");
        std::string_view indices;
        const std::string_view name = line.substr(0, end);
        if (end != std::string_view::npos && line[end] == '(') {
            const std::size_t close = line.find(')', end);
            if (close == std::string_view::npos)
                return bad("", fmt::format("'{}' has no closing bracket", topo::shown(line)), "ask Slurm again");
            indices = line.substr(end + 1, close - end - 1);
            end = line.find(',', close);
        }
        line = end == std::string_view::npos ? std::string_view{} : line.substr(end + 1);
        if (name != "gpu" && !name.starts_with("gpu:")) continue;
        if (!indices.starts_with("IDX:"))
            return bad("", fmt::format("'{}' does not say which GPUs", topo::shown(name)),
                       "name each GPU's File= in gres.conf");
        const auto more = mask_of(indices.substr(4));
        if (!more) return more.failure();
        out |= *more;
    }
    return out;
}

topo::result<std::vector<node_share>> shares_of(const slurm_job& job, const topo::cluster& c) {
    const auto hosts = hosts_of(job.nodes);
    if (!hosts) return hosts.failure();
    if (hosts->size() != job.gres.size())
        return bad("job", fmt::format("Slurm tells of {} nodes and of devices of {}", hosts->size(), job.gres.size()),
                   "ask again when the job has started");
    std::vector<node_share> out;
    for (std::size_t i = 0; i < hosts->size(); ++i) {
        auto gpus = gpus_of_gres(job.gres[i]);
        if (!gpus) return bad((*hosts)[i], gpus.failure().what, gpus.failure().remedy);
        const auto share = share_of((*hosts)[i], *gpus, c);
        if (!share) return share.failure();
        out.push_back(*share);
    }
    return out;
}

topo::result<std::vector<node_share>> shares_here(const environment& env, const job_source& ask,
                                                  const topo::cluster& c) {
    const char* list = env("SLURM_JOB_NODELIST");
    const char* id_text = env("SLURM_JOB_ID");
    if (list == nullptr || id_text == nullptr)
        return topo::error{topo::errc::missing, "SLURM_JOB_ID", "this is not inside a Slurm job",
                           "name one with --job, or its nodes with --nodes and --gpus"};
    const auto hosts = hosts_of(list);
    if (!hosts) return hosts.failure();
    if (hosts->size() == 1) {
        const char* gpus = env("SLURM_JOB_GPUS");
        if (gpus == nullptr) gpus = env("SLURM_STEP_GPUS");
        if (gpus != nullptr) {
            const auto mask = mask_of(gpus);
            if (!mask) return bad("SLURM_JOB_GPUS", mask.failure().what, mask.failure().remedy);
            const auto share = share_of(hosts->front(), *mask, c);
            if (!share) return share.failure();
            return std::vector<node_share>{*share};
        }
    }
    if (const char* each = env("SLURM_GPUS_PER_NODE"))
        if (auto whole = all_gpus(*hosts, each, c)) return *whole;
    std::uint32_t id = 0;
    const std::string_view digits = id_text;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), id);
    if (fault != std::errc{} || end != digits.data() + digits.size())
        return bad("SLURM_JOB_ID", fmt::format("'{}' is no job number", topo::shown(digits)),
                   "name the job with --job");
    const auto job = ask(id);
    if (!job) return job.failure();
    return shares_of(*job, c);
}

topo::result<slurm_job> ask_slurm(std::uint32_t id) {
    using load_fn = int (*)(std::uint32_t, void (*)(void*, const char*, const char* const*, std::uint32_t), void*,
                            char*, std::size_t);
    std::string path;
    for (const auto& place : client_places())
        if (std::error_code ignored; path.empty() && std::filesystem::exists(place, ignored)) path = place.string();
    if (path.empty())
        return topo::error{topo::errc::missing, client_file, "it is not installed, and Slurm is asked through it",
                           "build with -DATOLL_SLURM_SOURCE, or name the nodes with --nodes and --gpus"};
    const std::unique_ptr<void, closer> client(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!client) return topo::error{topo::errc::io, path, ::dlerror(), "install the one of this build"};
    load_fn load = nullptr;
    *reinterpret_cast<void**>(&load) = ::dlsym(client.get(), "atoll_slurm_load_job");
    if (load == nullptr)
        return topo::error{topo::errc::io, path, "it is of another version", "install the one of this build"};
    slurm_job job;
    std::array<char, 512> why{};
    if (load(id, give, &job, why.data(), why.size()) != 0)
        return topo::error{topo::errc::hardware, fmt::format("job {}", id), why.data(),
                           "see squeue, or name the nodes with --nodes and --gpus"};
    if (job.nodes.empty())
        return topo::error{topo::errc::no_fit, fmt::format("job {}", id), "it has no nodes yet", "ask when it runs"};
    return job;
}

}  // namespace cli
