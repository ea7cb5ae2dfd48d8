// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "cli/output.hpp"
#include "cli/stats_view.hpp"
#include "cli/verb.hpp"
#include "topo/plugin_stats.hpp"

namespace cli {
namespace {

struct options {
    std::string file = "/run/atoll/slurm.stats";
    bool prometheus = false;
    std::string output;
    common_options common;
};

topo::error failed(const std::string& path, int code) {
    if (code == ENOENT)
        return {topo::errc::missing, path, "there is no such file",
                "make its folder for SlurmUser, or write stats_file into atoll.yaml, and scontrol reconfigure"};
    return {topo::errc::io, path, std::strerror(code), "check the path and its permissions"};
}

// A copy of the file through a read-only map: slurmctld goes on writing meanwhile. Never waits on a pipe.
topo::result<std::vector<std::uint8_t>> read_mapped(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return failed(path, errno);
    struct closer {
        int fd;
        ~closer() { ::close(fd); }
    } const closing{fd};
    struct stat info {};
    if (::fstat(fd, &info) != 0) return failed(path, errno);
    constexpr std::size_t size = topo::stats::file_words * 8;
    if (!S_ISREG(info.st_mode) || info.st_size != static_cast<off_t>(size))
        return topo::error{topo::errc::bad_input, path, "this is no file of Atoll's counters",
                           "name the stats_file of atoll.yaml, as slurmctld with Atoll writes it"};
    void* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) return failed(path, errno);
    const auto* bytes = static_cast<const std::uint8_t*>(at);
    std::vector<std::uint8_t> copy(bytes, bytes + size);
    ::munmap(at, size);
    return copy;
}

// Whether the process is on this host; an unlikely number counts as none.
bool lives(std::uint64_t pid) {
    if (pid == 0 || pid > static_cast<std::uint64_t>(std::numeric_limits<pid_t>::max())) return false;
    return ::kill(static_cast<pid_t>(pid), 0) == 0 || errno == EPERM;
}

int run(const options& o) {
    const console out = o.common.make_console();
    if (o.common.as_json && o.prometheus)
        return out.fail("--prometheus", "stands together with --json", "use one of the two");
    const auto to = destination_of(o.output, o.common.as_json);
    if (!to) return out.fail(to.failure());
    const auto bytes = read_mapped(o.file);
    if (!bytes) return out.fail(bytes.failure());
    auto counters = topo::stats::parse(*bytes, o.file);
    if (!counters) return out.fail(counters.failure());
    if (!lives(counters->pid)) counters->now = topo::stats::state::stopped;  // it does not always say so itself
    const std::string text = o.prometheus ? stats_prometheus(*counters) : stats_text(*counters, out.out());
    if (o.common.as_json) return out.print_object(stats_json(*counters));
    return deliver(out, *to, o.output, text);
}

}  // namespace

void add_status(command_tree& tree) {
    auto o = std::make_shared<options>();
    tree.add("status",
             "What the plugin in slurmctld has decided so far\n"
             "Where decisions ended, why jobs were left to Slurm, and how long it took. Reads a file that slurmctld "
             "keeps; asks nobody and disturbs nothing. Shown as stopped where slurmctld does not run on this host.",
             "  atoll status\n"
             "  atoll status --json | jq .decisions\n"
             "  atoll status --prometheus -o /var/lib/prometheus/node-exporter/atoll.prom\n"
             "Counters begin with the start of slurmctld. Times are upper ends of buckets that grow by 19 %.\n",
             [o] { return run(*o); })
        .text({.names = "file",
               .help = "The stats_file of atoll.yaml (default /run/atoll/slurm.stats)",
               .type = "FILE",
               .files = true},
              o->file)
        .flag({.names = "--prometheus", .help = "As text for Prometheus' textfile collector"}, o->prometheus)
        .text({.names = "-o,--output", .help = "Write here; - is standard output", .type = "FILE", .files = true},
              o->output)
        .common(o->common);
}

}  // namespace cli
