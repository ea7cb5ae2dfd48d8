// SPDX-License-Identifier: Apache-2.0
#include "tests/corpus/folder.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace corpus {
namespace {

std::filesystem::path root() {
    const char* folder = std::getenv("ATOLL_CORPUS");
    return folder == nullptr ? "" : folder;
}

}  // namespace

bool present() {
    static const bool there = [] {
        const bool found = !root().empty() && std::filesystem::is_directory(root());
        if (!found) std::puts("SKIPPED: ATOLL_CORPUS does not name a folder of topology files");
        return found;
    }();
    return there;
}

std::vector<std::string> files(const std::string& folder) {
    std::vector<std::string> out;
    std::error_code failed;
    for (const auto& entry : std::filesystem::directory_iterator(root() / folder, failed))
        if (entry.is_regular_file()) out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
}

std::string text(const std::string& path) {
    std::ifstream in(root() / path, std::ios::binary);
    REQUIRE_MESSAGE(in.good(), path);
    std::stringstream whole;
    whole << in.rdbuf();
    return whole.str();
}

topo::result<topo::import_output> import(const std::string& path, const topo::import_options& options) {
    return topo::import_text(text(path), path, topo::format::automatic, options);
}

}  // namespace corpus
