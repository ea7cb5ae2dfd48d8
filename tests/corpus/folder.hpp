// SPDX-License-Identifier: Apache-2.0
// The corpus: a folder of real topology files, named by ATOLL_CORPUS.
#pragma once

#include <string>
#include <vector>

#include "topo/import/import.hpp"

namespace corpus {

// True when ATOLL_CORPUS names a folder. Otherwise prints "SKIPPED: …" once a program.
[[nodiscard]] bool present();

// Names of the files of one sub-folder, sorted.
[[nodiscard]] std::vector<std::string> files(const std::string& folder);

// The text of a file; fails the test when it cannot be read.
[[nodiscard]] std::string text(const std::string& path);

// Imports a file by content, with its path in the corpus as the place of messages.
[[nodiscard]] topo::result<topo::import_output> import(const std::string& path,
                                                       const topo::import_options& options = {});

}  // namespace corpus
