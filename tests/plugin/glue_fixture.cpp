// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/plugin/glue_fixture.hpp"

#include <doctest/doctest.h>
#include <unistd.h>

#include <fstream>
#include <stdexcept>

#include "topo/file.hpp"
#include "topo/link_table.hpp"

namespace glue_test {

topo::node_class bridge_board() {
    topo::node_class c;
    c.name = "bridge8";
    c.cores = 32;
    c.threads_per_core = 1;
    for (int n = 0; n < 2; ++n) {
        auto cpus = topo::id_set::parse(n == 0 ? "0-15" : "16-31");
        REQUIRE(cpus);
        c.numa.push_back({n, *cpus});
    }
    for (int i = 0; i < 8; ++i) {
        topo::gpu g;
        g.name = "GPU" + std::to_string(i);
        g.model = "NVIDIA A100 80GB PCIe";
        g.numa = i / 4;
        c.gpus.push_back(g);
    }
    c.gpu_links = topo::matrix<topo::link>(8, 8, {topo::link_class::sys, 0});
    for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = 0; b < 8; ++b) {
            if (a / 4 == b / 4) c.gpu_links(a, b) = {topo::link_class::node, 0};
            if ((a ^ b) == 2) c.gpu_links(a, b) = {topo::link_class::nvlink, 4};
            if (a == b) c.gpu_links(a, b) = {topo::link_class::self, 0};
        }
    topo::fill_estimates(c);
    return c;
}

void make_simulated(topo::node_class& hardware) {
    for (topo::cost_layer& layer : hardware.layers)
        for (topo::cost& cell : layer.cells.cells())
            if (cell.present()) cell.from = cell.alpha_from = topo::source::simulated;
}

topo::cluster_description bridge_cluster(int nodes, int per_leaf) {
    topo::cluster_description d;
    d.name = "test";
    d.classes.push_back(bridge_board());
    d.nodes.push_back({"bridge8", {}});
    d.fabric.form = topo::fabric_form::tree;
    topo::switch_description spine;
    spine.name = "spine";
    for (int i = 0; i < nodes; ++i) {
        const std::string name = "g" + std::to_string(i + 1);
        d.nodes.back().nodes.push_back(name);
        if (i % per_leaf == 0) {
            topo::switch_description leaf;
            leaf.name = "leaf" + std::to_string(i / per_leaf);
            d.fabric.switches.push_back(leaf);
            spine.switches.push_back(leaf.name);
        }
        d.fabric.switches.back().nodes.push_back(name);
    }
    d.fabric.switches.push_back(spine);
    return d;
}

namespace {

void note(void* context, atoll_log_level level, const char* text) {
    auto* w = static_cast<world*>(context);
    w->log.push_back({level, text});
    if (w->throwing_log) throw std::runtime_error("the log is broken");
}

}  // namespace

world::world() {
    std::string pattern = (std::filesystem::temp_directory_path() / "atoll-glue-XXXXXX").string();
    REQUIRE(mkdtemp(pattern.data()) != nullptr);
    folder_ = pattern;
    glue = atoll_glue_new(note, this);
    REQUIRE(glue != nullptr);
}

world::~world() {
    atoll_glue_free(glue);
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void world::write(const std::string& name, const std::string& text) const {
    std::ofstream out(folder_ / name, std::ios::binary | std::ios::trunc);
    out << text;
}

void world::write_cluster(const topo::cluster_description& c) const { write("cluster.yaml", topo::write_cluster(c)); }

void world::table(int nodes) {
    names.clear();
    for (int i = 0; i < nodes; ++i) names.push_back("g" + std::to_string(i + 1));
    all.assign((static_cast<std::size_t>(nodes) + 63) / 64, ~std::uint64_t{0});
}

int world::load() {
    std::vector<atoll_node_info> nodes;
    for (const std::string& n : names) nodes.push_back({n.empty() ? nullptr : n.c_str(), 2, 32});
    return atoll_glue_load(glue, path("atoll.yaml").c_str(), nodes.data(), static_cast<std::uint32_t>(nodes.size()));
}

atoll_node_state world::whole_node() {
    atoll_node_state s{};
    s.free_gpus = 0xff;
    s.free_memory = 512000;
    s.weight = 1;
    s.free_cpus = 32;
    s.gpus = 8;
    s.flags = ATOLL_NODE_OPEN | ATOLL_NODE_IDLE | ATOLL_NODE_MEMORY_UNTOUCHED;
    return s;
}

void world::free_all() {
    const atoll_node_state s = whole_node();
    std::uint32_t node = 0;
    while (atoll_glue_next_dirty(glue, &node) != 0) atoll_glue_set_node(glue, node, &s);
}

atoll_wish world::wish(std::uint32_t nodes, std::uint64_t gpus_per_node) const {
    atoll_wish w{};
    w.allowed = all.data();
    w.min_nodes = w.req_nodes = w.max_nodes = nodes;
    w.gpus_per_node = gpus_per_node;
    w.flags = ATOLL_NODE_OPEN;
    w.job_id = 1;
    return w;
}

std::string world::lines(atoll_log_level level) const {
    std::string out;
    for (const line& l : log)
        if (l.level == level) out += l.text + "\n";
    return out;
}

}  // namespace glue_test
