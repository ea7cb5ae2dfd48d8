// SPDX-License-Identifier: Apache-2.0
#include "support.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>  // mkdtemp

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

#include "../placement/boards.hpp"

namespace kube_test {

topo::node_description node_of(topo::node_class board, const std::string& host) {
    topo::node_description out;
    out.host = host;
    for (std::size_t g = 0; g < board.gpus.size(); ++g) {
        board.gpus[g].uuid = id_of(static_cast<unsigned>(g));
        board.gpus[g].pci = topo::pci_address{0, static_cast<std::uint8_t>(0x10 + g), 0, 0};
    }
    for (std::size_t i = 0; i < board.nics.size(); ++i)
        board.nics[i].pci = topo::pci_address{0, static_cast<std::uint8_t>(0x80 + i), 0, 0};
    out.hardware = std::move(board);
    return out;
}

kube::inventory inventory_of(topo::node_class board, const kube::settings& s) {
    auto made = kube::inventory::make(node_of(std::move(board)), nullptr, s);
    if (!made) FAIL(made.failure().message());
    return std::move(*made);
}

topo::node_class four_pairs() { return boards::paired(8, {{0, 1}, {2, 3}, {4, 5}, {6, 7}}); }

std::string id_of(unsigned gpu) { return std::string("GPU-") + (gpu < 10 ? "0" : "") + std::to_string(gpu); }

std::vector<std::string> ids_of(topo::gpu_mask gpus) {
    std::vector<std::string> out;
    for (; gpus != 0; gpus &= gpus - 1) out.push_back(id_of(static_cast<unsigned>(std::countr_zero(gpus))));
    return out;
}

topo::gpu_mask mask_of(const std::vector<std::string>& ids) {
    topo::gpu_mask out = 0;
    for (const std::string& id : ids) out |= topo::gpu_mask{1} << std::stoul(id.substr(4));
    return out;
}

double sample(const std::string& text, const std::string& name, const std::vector<std::string>& labels) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(name + "{") && !line.starts_with(name + " ")) continue;
        if (std::all_of(labels.begin(), labels.end(),
                        [&](const std::string& label) { return line.find(label) != std::string::npos; }))
            return std::stod(line.substr(line.rfind(' ')));
    }
    return std::numeric_limits<double>::quiet_NaN();
}

folder::folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "atoll-kube-XXXXXX").string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
}

folder::~folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string folder::write(const std::string& name, const std::string& text) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path) << text;
    return path;
}

}  // namespace kube_test
