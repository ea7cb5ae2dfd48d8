// SPDX-License-Identifier: Apache-2.0
// discover, import, calibrate, merge, validate and export: files in, files out.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <sstream>

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
    CHECK(run_atoll({"calibrate", "--simulate", "dgx-a100", "--resume", out + ".log"}).code == 2);
    const std::string kept = dir.write("kept.log", read_all(out + ".log"));
    const ran resumed =
        run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "-o", out, "--resume", out + ".log", "--json"});
    CHECK(resumed.code == 0);
    const ran whole = run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "--json"});
    const auto hardware = without_times(resumed.json()["node"]["hardware"]);
    CHECK(hardware["costs"].size() >= 3);
    CHECK(hardware == without_times(whole.json()["node"]["hardware"]));
    CHECK_FALSE(exists(out + ".log"));  // it goes as after a run that was not stopped
    const std::vector<std::string> named{"calibrate", "--simulate", "gb200-nvl72-tray", "-o", out, "--resume", kept,
                                         "--log",     kept};
    CHECK(run_atoll(named).code == 0);
    CHECK(exists(kept));  // --log asks for it
}

TEST_CASE("calibrate refuses before it measures what would fail after") {
    const scratch dir;
    const std::string log = dir.file("none.log");
    const ran nothing = run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "--resume", log});
    CHECK(nothing.code == 2);
    CHECK(contains(nothing.err, "error: --resume " + log + ": there is no such log"));
    CHECK(contains(nothing.err, "leave out --resume"));
    for (const std::string& bad : {dir.file("no/such/n.json"), dir.path(), dir.path() + "/"}) {
        CAPTURE(bad);
        const ran r = run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "-o", bad});
        CHECK(r.code == 2);
        CHECK(contains(r.err, "error: " + dir.path()));
        CHECK_FALSE(contains(r.err, "SIMULATED"));  // which is said before the first cost
        CHECK_FALSE(exists(bad + ".log"));
    }
    const std::string one = dir.file("one");
    CHECK(run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "-o", one, "--log", one}).code == 2);
    CHECK(dir.names().empty());
    const ran other = run_atoll({"calibrate", "--simulate", "gb200-nvl72-tray", "--resume", dir.write("x.log", "")});
    CHECK(other.code == 0);
    CHECK(contains(other.err, "holds no finished cost"));
}

TEST_CASE("calibrate says each finding once") {
    const ran r = run_atoll(
        {"calibrate", "--simulate", "dgx-h100", "--only", "gpu-gpu", "--fault", "nvlink-lost:GPU2-GPU5", "--json"});
    CHECK(r.code == 0);
    const std::string what = "GPU2-GPU5: degraded_nvlink";
    const std::size_t first = r.err.find(what);
    REQUIRE(first != std::string::npos);
    CHECK(r.err.find(what, first + 1) == std::string::npos);
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

TEST_CASE("an empty or binary file is called so, not taken for another tool's") {
    const scratch dir;
    std::string binary =
        "\x7f"
        "ELF";
    for (int i = 0; i < 4096; ++i) binary += static_cast<char>(i * 37 % 251);
    const std::pair<std::string, const char*> inputs[] = {{dir.write("empty", ""), "is empty"},
                                                          {dir.write("blank", "\xef\xbb\xbf \n\n"), "is empty"},
                                                          {dir.write("binary", binary), "is binary"},
                                                          {dir.write("no-nul", std::string(500, '\x01')), "is binary"},
                                                          {dir.write("text", "hello\n"), "of no format"}};
    for (const auto& input : inputs) {
        const std::string& file = input.first;
        for (const std::vector<std::string>& words : {std::vector<std::string>{"validate", file},
                                                      {"show", file},
                                                      {"place", file, "--gpus", "1"},
                                                      {"export", file, "--to", "slurm-gres"}}) {
            CAPTURE(file);
            const ran r = run_atoll(words);
            CHECK(r.code == 2);
            CHECK(contains(r.err, "error: " + file + ": "));
            CHECK(contains(r.err, input.second));
            CHECK(contains(r.err, "give an Atoll cluster, fabric or node file"));
            CHECK_FALSE(contains(r.err, "--from"));  // only import has it
        }
    }
}

TEST_CASE("validate names the file of each finding, its kind when that is known, and simulated costs") {
    const scratch dir;
    const std::string bad = dir.write("bad.yaml", "apiVersion: atoll/v1\nkind: Cluster\nnmae: x\nclasses: []\n");
    const std::string none = dir.file("none.yaml");
    const std::string conf =
        dir.write("topology.conf", "SwitchName=root Switches=leaf1,leaf2\nSwitchName=leaf1 Nodes=n[1-4]\n");
    const std::string node = dir.file("node.json");
    REQUIRE(run_atoll({"calibrate", "--simulate", "dgx-h100", "--only", "gpu-gpu", "--fault", "nvlink-lost:GPU2-GPU5",
                       "-o", node})
                .code == 0);
    const ran r = run_atoll({"validate", bad, none, conf, node});
    CHECK(r.code == 2);
    CHECK(contains(r.out, bad + ": cluster file: not valid\n"));
    CHECK(contains(r.out, none + ": unreadable: not valid\n"));
    CHECK(contains(r.out, node + ": node file: valid, 1 node, 8 GPUs, simulated\n"));
    CHECK(contains(r.err, "warning: " + node + ": GPU2-GPU5: degraded_nvlink"));
    std::istringstream lines(r.err);
    for (std::string line; std::getline(lines, line);) {
        CAPTURE(line);
        CHECK(contains(line, ": " + dir.path() + "/"));
    }
    const auto object = run_atoll({"validate", dir.write("hello", "hello\n"), none, "--json"}).json();
    CHECK(object["files"][0]["kind"].is_null());
    CHECK(object["files"][1]["kind"] == "unreadable");
    // What the node file says of itself is not lost on the way to an answer.
    const std::string finding = "GPU2-GPU5: degraded_nvlink";
    for (const char* gpus : {"2", "9"}) {
        CHECK(contains(run_atoll({"place", node, "--gpus", gpus}).err, finding));
        CHECK(contains(run_atoll({"place", node, "--gpus", gpus, "--json"}).json()["notes"].dump(), "degraded_nvlink"));
    }
    CHECK(contains(run_atoll({"export", node, "--to", "slurm-gres"}).err, finding));
}

TEST_CASE("a NUMA node that the class does not list is refused") {
    const scratch dir;
    std::string text = read_all(simulated_node());
    const std::size_t at = text.find("\"numa\": 0, \"cpus\"");  // of the first GPU
    REQUIRE(at != std::string::npos);
    text.replace(at, 9, "\"numa\": 7");
    const ran r = run_atoll({"validate", dir.write("n.json", text)});
    CHECK(r.code == 2);
    CHECK(contains(r.err, "NUMA node 7 of GPU0 is not in the numa list"));
    CHECK(contains(r.err, "-1 for unknown"));
    text.replace(at, 9, "\"numa\": -1");
    CHECK(run_atoll({"validate", dir.write("n.json", text)}).code == 0);
}

TEST_CASE("a folder is written to with one slash") {
    const scratch dir;
    const ran r = run_atoll({"import", example("a100-pcie-bridges.txt"), "-o", dir.file("out/")});
    CHECK(r.code == 0);
    CHECK(contains(r.err, "wrote " + dir.file("out/a100-pcie-bridges.json") + "\n"));
}

TEST_CASE("a link to a file that is not there yet stays a link") {
    const scratch dir;
    std::filesystem::create_symlink("real.json", dir.file("link.json"));
    CHECK(run_atoll({"import", example("a100-pcie-bridges.txt"), "-o", dir.file("link.json")}).code == 0);
    CHECK(std::filesystem::is_symlink(dir.file("link.json")));
    CHECK(run_atoll({"validate", dir.file("real.json")}).code == 0);
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
