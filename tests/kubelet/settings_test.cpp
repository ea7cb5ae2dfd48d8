// SPDX-License-Identifier: Apache-2.0
// Flags, environment and config file.
#include "k8s-device-plugin/settings.hpp"

#include <doctest/doctest.h>

#include <map>

#include "support.hpp"

using namespace kube_test;

namespace {

topo::result<kube::settings> read(const std::vector<std::string>& flags,
                                  const std::map<std::string, std::string>& environment = {}) {
    return kube::read_settings(flags, [&](const char* name) {
        const auto found = environment.find(name);
        return found == environment.end() ? nullptr : found->second.c_str();
    });
}

}  // namespace

TEST_CASE("a flag wins over the environment, that over the file") {
    const folder at;
    const std::string file =
        at.write("config.yaml",
                 "version: v1\nflags:\n  resource: a.example/gpu\n  replicas: 3\n  node-name: from-file\n"
                 "  device-list-strategy: [envvar, cdi-cri]\n");
    const auto got = read({"--resource", "c.example/gpu", "--config-file=" + file},
                          {{"RESOURCE", "b.example/gpu"}, {"REPLICAS", "2"}});
    if (!got) FAIL(got.failure().message());
    CHECK(got->resource == "c.example/gpu");
    CHECK(got->replicas == 2);
    CHECK(got->node_name == "from-file");
    CHECK(got->list.cdi_cri);
    CHECK(got->socket() == "c.example-gpu.sock");
    CHECK(read({}, {{"CONFIG_FILE", file}})->resource == "a.example/gpu");
    CHECK(read({})->resource == "atoll.dev/gpu");
}

TEST_CASE("known names: strategies, policies, Xids, switches") {
    const auto got = read({"--pass-device-specs", "--nics=false", "--health-ignored-xids", "13,31"},
                          {{"DEVICE_LIST_STRATEGY", "cdi-annotations,cdi-cri"},
                           {"DEVICE_ID_STRATEGY", "index"},
                           {"SHARED_DEVICES_ALLOCATION_POLICY", "packed"},
                           {"FAIL_ON_INIT_ERROR", "false"}});
    if (!got) FAIL(got.failure().message());
    CHECK(got->pass_device_specs);
    CHECK(!got->nics);
    CHECK(got->ignored_xids == std::vector<unsigned>{13, 31});
    CHECK(!got->list.envvar);
    CHECK(got->list.cdi_annotations);
    CHECK(got->ids == kube::id_strategy::index);
    CHECK(got->policy == kube::share_policy::pack);
    CHECK(!got->fail_on_init_error);
}

TEST_CASE("what is wrong is named with its source") {
    for (const std::vector<std::string>& flags :
         std::vector<std::vector<std::string>>{{"--no-such"},
                                               {"word"},
                                               {"--resource"},
                                               {"--resource", "gpu"},
                                               {"--resource", "x.kubernetes.io/gpu"},
                                               {"--resource=a/b/c"},
                                               {"--replicas", "0"},
                                               {"--replicas", "1.5"},
                                               {"--replicas", "nan"},
                                               {"--replicas=3", "--replicas=3"},
                                               {"--nics=maybe"},
                                               {"--health", "file"},
                                               {"--health-interval", "-1"},
                                               {"--health-interval", "1e999"},
                                               {"--device-list-strategy", "envvar,volume-mounts"},
                                               {"--device-list-strategy", "hope"},
                                               {"--log-level", "loud"},
                                               {"--health-ignored-xids", "13,x"},
                                               {"--socket-name", "../x.sock"},
                                               {"--socket-name", "kubelet.sock"},
                                               {"--plugin-dir", std::string(120, 'x')},
                                               {"--config-file", "/no/such/file"},
                                               {"--node-name", std::string(5000, 'x')}}) {
        const auto got = read(flags);
        CAPTURE(flags.front());
        REQUIRE(!got);
        CHECK(!got.failure().message().empty());
    }
    const auto got = read({}, {{"REPLICAS", "many"}});
    REQUIRE(!got);
    CHECK(got.failure().message().find("REPLICAS") != std::string::npos);
}

TEST_CASE("config files: hostile text gives an error with its place, never more") {
    for (const std::string& text : {std::string(),
                                    std::string("x"),
                                    std::string("[]"),
                                    std::string("version: v2\n"),
                                    std::string("flags: {}\n"),
                                    std::string("version: v1\nflags: 3\n"),
                                    std::string("version: v1\nflags: {resource: {a: b}}\n"),
                                    std::string("version: v1\nflags: {no-such: 1}\n"),
                                    std::string("version: v1\nflags: {replicas: 2, replicas: 3}\n"),
                                    std::string("version: v1\nversion: v1\n"),
                                    std::string("version: v1\nother: 1\n"),
                                    std::string("version: v1\nflags: {config-file: x}\n"),
                                    std::string("version: v1\n---\nversion: v1\n"),
                                    std::string("version: v1\nflags: {[a]: b}\n"),
                                    std::string("version: v1\nflags: {replicas: -1}\n"),
                                    std::string("\0\0version", 9),
                                    std::string(100'000, '['),
                                    std::string(100'000, '{'),
                                    std::string("version: v1\nflags: {resource: *x}\n"),
                                    std::string("\t- : :\n - ]")}) {
        kube::settings s;
        const auto got = kube::take_config_text(s, text, "config.yaml");
        CAPTURE(text.substr(0, 60));
        REQUIRE(!got);
        CHECK(got.failure().where.starts_with("config.yaml"));
    }
    kube::settings s;
    CHECK(kube::take_config_text(s, "version: v1\n", "config.yaml"));
}
