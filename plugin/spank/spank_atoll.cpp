// SPDX-License-Identifier: GPL-2.0-or-later
// spank_atoll.so: the option --atoll of srun, sbatch and salloc, and the environment of a job's tasks.
//
// Slurm loads this into its commands and into every step; Slurm's functions are found there when it is loaded. It stays
// small: the cluster file is read by atoll_slurm_glue.so, which only steps with GPUs open. Nothing here fails a job:
// what goes wrong after submission is said once and leaves the step as Slurm made it.
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

extern "C" {  // it says so of only half of its functions
#include <slurm/spank.h>
}

#include "plugin/slurm/job_hint.hpp"
#include "plugin/spank/bind.hpp"
#include "plugin/spank/glue_file.hpp"
#include "plugin/spank/task_text.hpp"

namespace {

using slurm_plugin::job_hint;

// As slurm/slurm.h has them; spank.h does not.
constexpr std::uint32_t batch_step = 0xfffffffb;
constexpr std::uint32_t interactive_step = 0xfffffffa;

// What Slurm looks for in the environment of srun and the others when the option is not given.
constexpr const char* option_variable = "SLURM_SPANK__SLURM_SPANK_OPTION_atoll_atoll";

struct plugin_state {
    bool off = false;  // by plugstack.conf
    bool bind = true;
    std::string config;  // "": the default
    std::string option;  // "": not given
    job_hint hint;
    const atoll_node_api* api = nullptr;
    atoll_node* node = nullptr;
    bool cpus_bound = false, memory_bound = false;  // by the user
    std::string hostfile, rank_order;
};

// Slurm's hooks have no context of their own to keep things in between two calls.
plugin_state& state() {
    static plugin_state it;
    return it;
}

void say(const char* text) { slurm_spank_log("atoll: %s", text); }

// Runs `body`; whatever is thrown is said and ends there.
template <class Body>
int guarded(Body&& body) noexcept {
    try {
        body();
    } catch (const std::exception& e) {
        say(e.what());
    } catch (...) {
        say("inner error; the job goes on without it");
    }
    return 0;
}

std::string variable(spank_t sp, const char* name) {
    std::array<char, 16384> text{};
    return spank_getenv(sp, name, text.data(), static_cast<int>(text.size())) == ESPANK_SUCCESS
               ? std::string(text.data())
               : std::string();
}

void set(spank_t sp, const char* name, const std::string& value, bool overwrite) {
    if (!value.empty()) (void)spank_setenv(sp, name, value.c_str(), overwrite ? 1 : 0);
}

std::uint32_t item(spank_t sp, spank_item_t what) {
    std::uint32_t value = UINT32_MAX;
    return spank_get_item(sp, what, &value) == ESPANK_SUCCESS ? value : UINT32_MAX;
}

bool is_script(spank_t sp) {
    const std::uint32_t step = item(sp, S_JOB_STEPID);
    return step == batch_step || step == interactive_step;
}

// Slurm's own numbers of the GPUs: those of the step, or of the job on this node for its script.
std::string gpu_list(spank_t sp) { return variable(sp, is_script(sp) ? "SLURM_JOB_GPUS" : "SLURM_STEP_GPUS"); }

bool switched_off() { return state().off || state().hint.how == job_hint::policy::off; }

int take_option(int, const char* text, int remote) {
    slurm_plugin::hint_fault fault;
    job_hint hint;
    const std::string_view given = text != nullptr ? text : "";
    if (slurm_plugin::parse_hint(given, hint, fault)) {
        (void)guarded([&] {
            state().hint = hint;
            state().option = given;
        });
        return 0;
    }
    if (remote != 0) return 0;  // refused at submission already
    slurm_error("--atoll: '%.*s': %s", static_cast<int>(fault.part.size()), fault.part.data(), fault.why);
    return -1;
}

void read_arguments(int count, char** words) {
    for (int i = 0; i < count; ++i) {
        const std::string_view word = words[i];
        if (word == "off")
            state().off = true;
        else if (word == "bind=off")
            state().bind = false;
        else if (word.starts_with("config="))
            state().config = word.substr(7);
        else
            slurm_error("atoll: plugstack.conf: '%s' is ignored; arguments are off, bind=off and config=FILE",
                        words[i]);
    }
}

// The same text for every program started inside: the script's srun takes it as if it were given there.
void hand_on(spank_t sp) {
    if (state().option.empty()) return;
    (void)spank_job_control_setenv(sp, "ATOLL", state().option.c_str(), 1);
    if (spank_context() == S_CTX_ALLOCATOR) (void)::setenv(option_variable, state().option.c_str(), 1);
}

void open_node(spank_t sp) {
    plugin_state& s = state();
    const char* host = std::getenv("SLURMD_NODENAME");
    if (switched_off() || host == nullptr || gpu_list(sp).empty()) return;
    std::array<char, 1024> why{};
    s.api = slurm_plugin::open_node_api(why.data(), why.size());
    if (s.api != nullptr)
        s.node = s.api->open(s.config.empty() ? nullptr : s.config.c_str(), host, why.data(), why.size());
    if (s.node != nullptr || why[0] == '\0') return;
    if (item(sp, S_JOB_NODEID) == 0)
        say((std::string(why.data()) + "; the job goes on without it").c_str());
    else
        slurm_verbose("atoll: %s", why.data());
}

// The script's own hosts in rank order, once as a list and once as a file for srun -m arbitrary.
void make_hostfile(spank_t sp) {
    plugin_state& s = state();
    const std::string hosts = variable(sp, "SLURM_JOB_NODELIST");
    const std::string tasks = variable(sp, "SLURM_TASKS_PER_NODE");
    std::string list(std::size_t{1} << 16, '\0');
    std::string lines(std::size_t{4} << 20, '\0');
    if (s.api->rank_hosts(s.node, hosts.c_str(), tasks.c_str(), list.data(), list.size(), lines.data(), lines.size()) ==
        0)
        return;
    s.rank_order = list.c_str();
    std::string path = "/tmp/atoll-hosts-" + std::to_string(item(sp, S_JOB_ID)) + "-XXXXXX";
    const int file = ::mkstemp(path.data());
    if (file < 0) return;
    const std::size_t size = std::strlen(lines.c_str());
    const bool whole = ::write(file, lines.c_str(), size) == static_cast<ssize_t>(size);
    if ((::close(file) == 0) && whole)
        s.hostfile = path;
    else
        (void)::unlink(path.c_str());
}

std::uint64_t mask_of(const std::vector<std::uint8_t>& gpus) {
    std::uint64_t mask = 0;
    for (const std::uint8_t g : gpus) mask |= std::uint64_t{1} << g;
    return mask;
}

// The variables that name the visible devices, put in ring order; what the list was before decides which word is which
// GPU.
void order_devices(spank_t sp, const std::vector<std::uint8_t>& told, const std::vector<std::uint8_t>& ring) {
    for (const char* name :
         {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL", "ZE_AFFINITY_MASK"}) {
        const std::string now = variable(sp, name);
        set(sp, name, slurm_plugin::reordered(slurm_plugin::device_words(now), told, ring), true);
    }
    std::string numbers;
    for (const std::uint8_t g : ring) numbers += (numbers.empty() ? "" : ",") + std::to_string(g);
    set(sp, "ATOLL_GPUS", numbers, true);
}

void name_nics(spank_t sp, const std::vector<std::uint8_t>& gpus) {
    std::vector<std::string> names;
    for (const std::uint8_t g : gpus) {
        atoll_gpu_place place;
        if (state().api->gpu_place(state().node, g, &place) == 0 || place.nic == nullptr) continue;
        if (std::find(names.begin(), names.end(), place.nic) == names.end()) names.emplace_back(place.nic);
    }
    std::string verbs;
    std::string ports;
    for (const std::string& name : names) {
        if (!slurm_plugin::may_be_verbs(name)) return;  // a net name, or a NIC that this node calls otherwise
        verbs += (verbs.empty() ? "=" : ",") + name;
        ports += (ports.empty() ? "" : ",") + name + ":1";
    }
    set(sp, "NCCL_IB_HCA", verbs, false);
    set(sp, "UCX_NET_DEVICES", ports, false);
}

// CPUs and memory near the task's GPUs, where the user did not say otherwise.
void bind_near(spank_t sp, const std::vector<std::uint8_t>& gpus) {
    slurm_plugin::cpu_words near{};
    int numa = -1;
    for (const std::uint8_t g : gpus) {
        atoll_gpu_place place;
        if (state().api->gpu_place(state().node, g, &place) == 0 || place.numa < 0) return;
        for (std::size_t i = 0; i < near.size(); ++i) near[i] |= place.cpus[i];
        numa = g == gpus.front() || numa == place.numa ? place.numa : -1;
    }
    const std::uint32_t wanted = item(sp, S_STEP_CPUS_PER_TASK);
    if (!state().cpus_bound && !slurm_plugin::narrow_cpus(near, wanted == UINT32_MAX ? 1 : wanted)) numa = -1;
    if (!state().memory_bound && numa >= 0) slurm_plugin::prefer_memory(numa);
}

void dress_task(spank_t sp) {
    plugin_state& s = state();
    if (s.node == nullptr) return;
    const std::vector<std::uint8_t> told = slurm_plugin::gpu_numbers(gpu_list(sp));
    std::array<std::uint8_t, ATOLL_MOST_GPUS> order{};
    const std::uint32_t count = told.empty() ? 0 : s.api->ring_order(s.node, mask_of(told), order.data());
    if (count != told.size() || count == 0) return;
    const std::vector<std::uint8_t> ring(order.begin(), order.begin() + count);
    order_devices(sp, told, ring);
    if (const char* file = s.api->nccl_topo_file(s.node); file != nullptr && ::access(file, R_OK) == 0)
        set(sp, "NCCL_TOPO_FILE", file, false);
    if (is_script(sp)) {  // what it starts may run on other GPUs and nodes
        set(sp, option_variable, s.option, true);
        set(sp, "ATOLL_RANK_ORDER", s.rank_order, true);
        set(sp, "ATOLL_HOSTFILE", s.hostfile, true);
        return;
    }
    int task = 0;
    if (spank_get_item(sp, S_TASK_ID, &task) != ESPANK_SUCCESS || task < 0) return;
    const bool own = !variable(sp, "SLURMD_TRES_BIND").empty();  // Slurm has given each task its own GPUs
    const auto mine =
        own ? ring : slurm_plugin::share_of(ring, static_cast<std::uint32_t>(task), item(sp, S_JOB_LOCAL_TASK_COUNT));
    if (mine.empty()) return;
    name_nics(sp, mine);
    if (s.bind) bind_near(sp, mine);
}

spank_option the_option() {
    static char name[] = "atoll";
    static char argument[] = "key=value,…";
    static char usage[] =
        "place by how the ranks talk: pattern=NAME, message=SIZE, tp=N, pp=N, dp=N, ep=N, policy=pack|spread|off";
    return {name, argument, usage, 1, 0, take_option};
}

}  // namespace

#define ATOLL_EXPORT extern "C" __attribute__((visibility("default")))

// SPANK_PLUGIN() of spank.h makes these, but in C++ they would be invisible.
ATOLL_EXPORT const char plugin_name[];
ATOLL_EXPORT const char plugin_type[];
ATOLL_EXPORT const unsigned int plugin_version;
ATOLL_EXPORT const unsigned int spank_plugin_version;
const char plugin_name[] = "atoll";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

ATOLL_EXPORT int slurm_spank_init(spank_t sp, int count, char* words[]) {
    const spank_context_t where = spank_context();
    if (where != S_CTX_LOCAL && where != S_CTX_ALLOCATOR && where != S_CTX_REMOTE) return 0;
    return guarded([&] {
        read_arguments(count, words);
        static spank_option option = the_option();
        if (spank_option_register(sp, &option) != ESPANK_SUCCESS) slurm_error("atoll: --atoll cannot be registered");
    });
}

ATOLL_EXPORT int slurm_spank_init_post_opt(spank_t sp, int, char*[]) {
    const spank_context_t where = spank_context();
    if (where != S_CTX_LOCAL && where != S_CTX_ALLOCATOR) return 0;
    return guarded([&] { hand_on(sp); });
}

ATOLL_EXPORT int slurm_spank_user_init(spank_t sp, int, char*[]) {
    return guarded([&] {
        state().cpus_bound = !variable(sp, "SLURM_CPU_BIND_TYPE").empty();
        state().memory_bound = !variable(sp, "SLURM_MEM_BIND_TYPE").empty();
        open_node(sp);
        if (state().node != nullptr && is_script(sp)) make_hostfile(sp);
    });
}

ATOLL_EXPORT int slurm_spank_task_init(spank_t sp, int, char*[]) {
    return guarded([&] { dress_task(sp); });
}

ATOLL_EXPORT int slurm_spank_exit(spank_t, int, char*[]) {
    return guarded([&] {
        plugin_state& s = state();
        if (!s.hostfile.empty()) (void)::unlink(s.hostfile.c_str());
        s.hostfile.clear();
        if (s.node != nullptr) s.api->close(s.node);
        s.node = nullptr;
    });
}
