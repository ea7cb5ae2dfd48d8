// SPDX-License-Identifier: Apache-2.0
// discover, import, calibrate, merge, validate and export: files in, files out.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>

#include "atoll_run.hpp"

using namespace cli_test;

namespace {

const std::string topo_text = read_all(example("a100-pcie-bridges.txt"));

std::string deep_json(std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); }

// The hardware of a node file without the time of each cost: a run that was stopped is later than one that was not.
nlohmann::json without_times(nlohmann::json hardware) {
    for (auto& layer : hardware["costs"]) {
        REQUIRE(layer.contains("time"));
        layer.erase("time");
    }
    return hardware;
}

}  // namespace

TEST_CASE("discover reads this host and its node file is read back") {
    const scratch dir;
    const ran r = run_atoll({"discover", "-o", dir.file("n.json"), "--json"});
    CHECK(r.code == 0);
    const auto object = r.json();
    CHECK(object["written"] == dir.file("n.json"));
    CHECK(object["node"]["kind"] == "Node");
    CHECK(run_atoll({"validate", dir.file("n.json")}).code == 0);
    CHECK(run_atoll({"discover", "--sysfs", dir.file("none"), "--no-hwloc"}).code == 2);
    const ran plain = run_atoll({"discover"});
    CHECK(plain.code == 0);
    CHECK(nlohmann::json::parse(plain.out)["kind"] == "Node");
}

TEST_CASE("import reads standard input by content and by name, and tells what it found") {
    const ran r = run_atoll({"import", "-"}, topo_text);
    CHECK(r.code == 0);
    CHECK(contains(r.err, "nvidia-smi"));
    CHECK(contains(r.err, "8 GPUs"));
    const auto node = r.json();
    CHECK(node["kind"] == "Node");
    const ran named =
        run_atoll({"import", "--from", "nvidia-smi", "--gpu-model", "NVIDIA A100", "--json", "-"}, topo_text);
    CHECK(named.code == 0);
    const auto object = named.json();
    CHECK(object["inputs"][0]["format"] == "nvidia-smi");
    CHECK(object["inputs"][0]["nodes"].size() == 1);
    CHECK(object["written"].is_null());
    CHECK(run_atoll({"import", "--from", "ibnetdiscover", "-"}, topo_text).code == 2);
}

TEST_CASE("a fabric becomes YAML, several nodes a folder") {
    const scratch dir;
    CHECK(run_atoll({"import", example("dgx-h100-64.topology.conf"), "-o", dir.file("f.yaml")}).code == 0);
    CHECK(contains(read_all(dir.file("f.yaml")), "kind: Fabric"));
    const std::string gres =
        "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia0 Links=-1,4 Cores=0-3\n"
        "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia1 Links=4,-1 Cores=0-3\n"
        "NodeName=n2 Name=gpu Type=a100 File=/dev/nvidia0 Links=-1,12 Cores=0-3\n"
        "NodeName=n2 Name=gpu Type=a100 File=/dev/nvidia1 Links=12,-1 Cores=0-3\n";
    const ran two = run_atoll({"import", "-", "-o", dir.file("nodes/")}, gres);
    CHECK(two.code == 0);
    CHECK(exists(dir.file("nodes/n1.json")));
    CHECK(exists(dir.file("nodes/n2.json")));
    const ran no_place = run_atoll({"import", "-"}, gres);
    CHECK(no_place.code == 2);
    CHECK(no_place.out.empty());
    CHECK(contains(no_place.err, "-o DIR"));
}

TEST_CASE("hosts whose lines are equal are one node file, and merge knows them all") {
    const scratch dir;
    const std::string gres =
        "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia0 Cores=0-3\n"
        "NodeName=n2 Name=gpu Type=a100 File=/dev/nvidia0 Cores=0-3\n";
    const std::string node = dir.file("pair.json");
    const ran r = run_atoll({"import", "-", "-o", node}, gres);
    CHECK(r.code == 0);
    CHECK(contains(r.err, "stands for 2 hosts: n[1-2]"));
    const auto object = run_atoll({"merge", node, "--json"}).json();
    CHECK(object["nodes"][0]["count"] == 2);
    CHECK(object["nodes"][0]["hosts"] == "n[1-2]");
}

TEST_CASE("a node name from a file cannot leave the folder") {
    const scratch dir;
    const std::string gres =
        "NodeName=../../evil Name=gpu File=/dev/nvidia0 Cores=0-3\nNodeName=n2 Name=gpu File=/dev/nvidia0 Cores=0-3\n";
    const ran r = run_atoll({"import", "-", "-o", dir.file("in/side/")}, gres);
    CHECK_FALSE(exists(dir.file("evil.json")));
    CHECK_FALSE(exists(dir.path() + "/../evil.json"));
    CHECK((r.code == 0 || r.code == 2));
}

TEST_CASE("hostile input gives exit code 2, a message with its place, and no file") {
    std::string binary(4096, '\0');
    for (std::size_t i = 0; i < binary.size(); ++i) binary[i] = static_cast<char>(i * 131);
    const std::string half_cluster = read_all(example("dgx-h100-64.yaml")).substr(0, 4000);
    const std::string half_node = read_all(simulated_node()).substr(0, 2000);
    const std::vector<std::string> inputs{
        "",
        "\n\n",
        binary,
        half_cluster,
        half_node,
        deep_json(100000),
        "apiVersion: atoll/v9\nkind: Cluster\n",
        "apiVersion: atoll/v1\nkind: Cluster\nname: x\nclasses: " + deep_json(5000) + "\n",
        std::string(1 << 20, 'a'),
        "{\"apiVersion\": \"atoll/v1\", \"kind\": \"Node\"}"};
    const scratch dir;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        CAPTURE(i);
        const std::string in = dir.write("in", inputs[i]);
        const std::string out = dir.file("out");
        for (const std::vector<std::string>& words : {std::vector<std::string>{"import", in, "-o", out},
                                                      {"merge", in, "-o", out},
                                                      {"validate", in},
                                                      {"show", in},
                                                      {"show", in, "--html", out},
                                                      {"place", in, "--gpus", "1"},
                                                      {"place", in, "--gpus", "1", "--json"},
                                                      {"export", in, "--to", "slurm-gres", "-o", out}}) {
            CAPTURE(words.front());
            const ran r = run_atoll(words);
            CHECK(r.code == 2);
            CHECK(contains(r.err, "error:"));
            CHECK_FALSE(contains(r.err, "\x1b"));
        }
        CHECK(dir.names() == std::vector<std::string>{"in"});
    }
}

TEST_CASE("paths that cannot be used are named") {
    const scratch dir;
    const ran missing = run_atoll({"show", dir.file("none.yaml")});
    CHECK(missing.code == 2);
    CHECK(contains(missing.err, "none.yaml"));
    CHECK(run_atoll({"show", dir.path()}).code == 2);
    CHECK(run_atoll({"import", example("a100-pcie-bridges.txt"), "-o", dir.file("no/such/folder/x.json")}).code == 2);
    CHECK(run_atoll({"import", example("a100-pcie-bridges.txt"), "-o", "-", "--json"}).code == 2);
    CHECK(dir.names().empty());
}

TEST_CASE("calibrate lists models and faults") {
    const ran r = run_atoll({"calibrate", "--list", "--json"});
    CHECK(r.code == 0);
    std::vector<std::string> names;
    const auto object = r.json();
    for (const auto& m : object["models"]) names.push_back(m["name"]);
    for (const char* wanted : {"dgx-h100", "dgx-a100", "dgx1-v100", "l40s-pcie-8", "gb200-nvl72-tray"})
        CHECK(std::count(names.begin(), names.end(), wanted) == 1);
    CHECK(object["faults"].size() >= 3);
}

TEST_CASE("calibrate without --simulate says what this build can do") {
    const ran r = run_atoll({"calibrate"});
    CHECK(r.code == 3);
    CHECK(contains(r.err, "--simulate"));
    CHECK(run_atoll({"calibrate", "--simulate", "no-such-model"}).code == 2);
    CHECK(run_atoll({"calibrate", "--simulate", "dgx-h100", "--fault", "gremlin"}).code == 2);
    CHECK(run_atoll({"calibrate", "--simulate", "dgx-h100", "--fault", "gremlin", "--dry-run"}).code == 2);
}

TEST_CASE("calibrate writes a node file that is marked simulated, the same for the same seed") {
    const scratch dir;
    const ran one = run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "--seed", "5", "-o", dir.file("a.json")});
    CHECK(one.code == 0);
    CHECK(contains(one.err, "SIMULATED"));
    CHECK(contains(one.err, "100 %"));
    CHECK(dir.names() == std::vector<std::string>{"a.json"});  // the log went when the node file stood
    const ran two = run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "--seed", "5", "--json"});
    CHECK(two.json()["simulated"] == true);
    CHECK(two.json()["node"] == nlohmann::json::parse(read_all(dir.file("a.json"))));
    const ran plan = run_atoll({"calibrate", "--simulate", "dgx-h100", "--dry-run", "--json"});
    CHECK(plan.json()["cells"].get<int>() > 56);
}

TEST_CASE("a fault of the simulated machine is found and printed") {
    const ran r = run_atoll(
        {"calibrate", "--simulate", "dgx-h100", "--only", "gpu-gpu", "--fault", "link-slow:GPU2-GPU5:0.5", "--json"});
    CHECK(r.code == 0);
    CHECK(contains(r.err, "GPU2"));
    bool named = false;
    const auto object = r.json();
    for (const auto& f : object["findings"])
        named |= f.dump().find("GPU5") != std::string::npos && f["severity"] != "info";
    CHECK(named);
    CHECK(run_atoll({"calibrate", "--simulate", "dgx-h100", "--fault", "dies:GPU3:40"}).code == 3);
}

TEST_CASE("Ctrl-C writes no node file and the run can go on") {
    const scratch dir;
    const std::string out = dir.file("n.json");
    const std::vector<std::string> words{"calibrate", "--simulate", "gb200-nvl72-tray", "--real-time", "1", "-o", out};
    const ran stopped = atoll_interrupted(words, 1500, SIGINT);
    CHECK(stopped.code == 3);
    CHECK(contains(stopped.err, "--resume"));
    CHECK_FALSE(contains(stopped.err, "stopped: 0 of"));  // else there would be nothing to go on with
    CHECK_FALSE(exists(out));
    REQUIRE(exists(out + ".log"));
    const ran resumed =
        run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "-o", out, "--resume", out + ".log", "--json"});
    CHECK(resumed.code == 0);
    const ran whole = run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "--json"});
    const auto hardware = without_times(resumed.json()["node"]["hardware"]);
    CHECK(hardware["costs"].size() >= 3);
    CHECK(hardware == without_times(whole.json()["node"]["hardware"]));
    CHECK(run_atoll({"calibrate", "--simulate", "dgx-a100", "--resume", out + ".log"}).code == 2);
}

TEST_CASE("merge makes a cluster file that every other verb takes") {
    const scratch dir;
    const std::string cluster = dir.file("c.yaml");
    const ran r = run_atoll({"merge", "--hosts", "dgx[01-64]=" + simulated_node(), "--fabric",
                             example("dgx-h100-64.topology.conf"), "--name", "lab", "-o", cluster, "--json"});
    CHECK(r.code == 0);
    const auto object = r.json();
    CHECK(object["simulated"] == true);
    CHECK(object["nodes"][0]["count"] == 64);
    CHECK(object["nodes"][0]["hosts"] == "dgx[01-64]");
    CHECK(object["fabric"]["levels"].size() == 2);
    const ran valid = run_atoll({"validate", cluster, "--json"});
    CHECK(valid.code == 0);
    CHECK(valid.json()["valid"] == true);
    CHECK(run_atoll({"show", cluster, "--json"}).json()["classes"][0]["simulated"] == true);
    // Slurm's own words come back as they went in.
    const ran topology = run_atoll({"export", cluster, "--to", "slurm-topology"});
    CHECK(topology.code == 0);
    CHECK(contains(topology.out, "SwitchName=leaf2"));
    CHECK(contains(topology.out, "dgx[17-32]"));
    const ran gres = run_atoll({"export", cluster, "--to", "slurm-gres", "--json"});
    CHECK(contains(gres.json()["text"], "Links="));
}

TEST_CASE("merge refuses what does not fit together") {
    const scratch dir;
    const std::string out = dir.file("c.yaml");
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"merge", "-o", out},
          {"merge", "--hosts", "g1", "-o", out},
          {"merge", "--hosts", "g[1-=x", "-o", out},
          {"merge", "--hosts", "g[1-2]=" + simulated_node(), "--hosts", "g2=" + simulated_node(), "-o", out},
          {"merge", example("dgx-h100-64.topology.conf"), "-o", out},
          {"merge", simulated_node(), "--fabric", simulated_node(), "-o", out},
          {"merge", dir.file("none.json"), "-o", out}}) {
        const ran r = run_atoll(words);
        CAPTURE(r.err);
        CHECK(r.code == 2);
        CHECK(contains(r.err, "error:"));
        CHECK_FALSE(exists(out));
    }
}

TEST_CASE("validate counts warnings with --strict") {
    const scratch dir;
    const std::string conf =
        dir.write("topology.conf", "SwitchName=root Switches=leaf1,leaf2\nSwitchName=leaf1 Nodes=n[1-4]\n");
    CHECK(run_atoll({"validate", "--strict", conf}).code == 2);
    const ran both = run_atoll({"validate", example("dgx-h100-64.yaml"), dir.file("none"), "--json"});
    CHECK(both.code == 2);
    CHECK(both.json()["files"][0]["valid"] == true);
    CHECK(both.json()["files"][1]["valid"] == false);
}

TEST_CASE("the example clusters are valid and show their picture") {
    for (const char* name : {"dgx-h100-64.yaml", "a100-pcie-bridges.yaml", "gb200-nvl72.yaml"}) {
        CAPTURE(name);
        CHECK(run_atoll({"validate", example(name)}).code == 0);
        CHECK(read_all(example(name)).starts_with("# SPDX-License-Identifier: Apache-2.0\n# "));
        CHECK(run_atoll({"place", example(name), "--nodes", "2", "--gpus-per-node", "4"}).code == 0);
    }
}
