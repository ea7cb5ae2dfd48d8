// SPDX-License-Identifier: Apache-2.0
// configs/kubernetes: every file parses, names what the program knows, and asks for no right it does not need.
#include <doctest/doctest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>

#include "k8s-device-plugin/settings.hpp"
#include "topo/file.hpp"

namespace {

YAML::Node manifest(const std::string& name) {
    return YAML::LoadFile(std::string(ATOLL_CONFIGS) + "/kubernetes/" + name);
}

bool is_setting(const std::string& variable) {
    const auto all = kube::options();
    return std::any_of(all.begin(), all.end(),
                       [&](const auto& o) { return kube::environment_name(o.name) == variable; });
}

}  // namespace

TEST_CASE("the DaemonSet: hardened, probes at the port that is served, variables that the program reads") {
    const auto set = manifest("daemonset.yaml");
    CHECK(set["kind"].as<std::string>() == "DaemonSet");
    const auto pod = set["spec"]["template"]["spec"];
    CHECK(set["spec"]["selector"]["matchLabels"]["app.kubernetes.io/name"].as<std::string>() ==
          set["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"].as<std::string>());
    CHECK(pod["priorityClassName"].as<std::string>() == "system-node-critical");
    CHECK(!pod["automountServiceAccountToken"].as<bool>());
    CHECK(!pod["hostNetwork"]);
    CHECK(!pod["hostPID"]);
    REQUIRE(pod["containers"].size() == 1);
    const auto container = pod["containers"][0];
    const auto rights = container["securityContext"];
    CHECK(!rights["privileged"]);
    CHECK(!rights["allowPrivilegeEscalation"].as<bool>());
    CHECK(rights["readOnlyRootFilesystem"].as<bool>());
    CHECK(rights["capabilities"]["drop"][0].as<std::string>() == "ALL");
    CHECK(!rights["capabilities"]["add"]);
    CHECK(rights["seccompProfile"]["type"].as<std::string>() == "RuntimeDefault");
    CHECK(container["resources"]["limits"]["memory"]);
    std::vector<std::pair<std::string, std::string>> variables;
    for (const auto& one : container["env"]) {
        const auto name = one["name"].as<std::string>();
        if (name.starts_with("NVIDIA_")) continue;  // read by the container runtime
        CHECK_MESSAGE(is_setting(name), name);
        variables.emplace_back(name, one["value"] ? one["value"].as<std::string>() : "node");
    }
    const auto port = container["ports"][0]["containerPort"].as<std::string>();
    CHECK(container["livenessProbe"]["httpGet"]["port"].as<std::string>() ==
          container["ports"][0]["name"].as<std::string>());
    CHECK(container["livenessProbe"]["httpGet"]["path"].as<std::string>() == "/healthz");
    CHECK(container["readinessProbe"]["httpGet"]["path"].as<std::string>() == "/readyz");
    const auto address =
        std::find_if(variables.begin(), variables.end(), [](const auto& v) { return v.first == "METRICS_ADDRESS"; });
    REQUIRE(address != variables.end());
    CHECK(address->second == ":" + port);
    // Every mount has its volume, and the kubelet's folder is the program's default.
    for (const auto& mount : container["volumeMounts"])
        CHECK(std::any_of(pod["volumes"].begin(), pod["volumes"].end(), [&](const auto& v) {
            return v["name"].template as<std::string>() == mount["name"].as<std::string>();
        }));
    CHECK(container["volumeMounts"][0]["mountPath"].as<std::string>() == kube::settings{}.plugin_dir);
}

TEST_CASE("the config map's file is taken, and kustomization names files that are there") {
    kube::settings s;
    const std::string path = std::string(ATOLL_CONFIGS) + "/kubernetes/config.yaml";
    const auto text = topo::read_file(path);
    REQUIRE(text);
    const auto taken = kube::take_config_text(s, *text, path);
    CHECK_MESSAGE(taken.has_value(), (taken ? "" : taken.failure().message()));
    const auto all = manifest("kustomization.yaml");
    for (const auto& name : all["resources"])
        CHECK(std::filesystem::exists(std::string(ATOLL_CONFIGS) + "/kubernetes/" + name.as<std::string>()));
    for (const auto& name : all["configMapGenerator"][0]["files"])
        CHECK(std::filesystem::exists(std::string(ATOLL_CONFIGS) + "/kubernetes/" + name.as<std::string>()));
    CHECK(manifest("example-pod.yaml")["spec"]["containers"][0]["resources"]["limits"]["atoll.dev/gpu"].as<int>() == 2);
}

TEST_CASE("docs/kubernetes.md lists every option") {
    const auto page = topo::read_file(std::string(ATOLL_CONFIGS) + "/../docs/kubernetes.md");
    REQUIRE(page);
    for (const auto& o : kube::options())
        CHECK_MESSAGE(page->find("`" + std::string(o.name) + "`") != std::string::npos, o.name);
}
