// SPDX-License-Identifier: Apache-2.0
// Self-contained HTML pages: no script, no external resource, light and dark by the reader's setting.
// Their own Content-Security-Policy forbids everything but the inline style sheet, and every text that
// comes from a file is escaped, so a hostile name stays a name.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/explain_view.hpp"
#include "cli/placement_view.hpp"
#include "cli/render/summary.hpp"
#include "cli/simulate_view.hpp"
#include "topo/fabric.hpp"
#include "topo/finding.hpp"
#include "topo/node_class.hpp"

namespace cli::render {

struct page_subject {
    std::string name;
    std::string kind;  // "cluster file"
    struct entry {
        const topo::node_class* hardware;
        class_view view;
    };
    std::vector<entry> classes;
    const topo::fabric* fabric = nullptr;  // nullptr: none
    std::vector<std::string> node_names;   // by node_id of the fabric
    topo::findings notes;
};

// The report of `atoll show --html`: findings, then each class with its picture, heat maps and devices,
// then the fabric. O(cells + groups).
[[nodiscard]] std::string report_page(const page_subject& subject);

// The page of `atoll place --html`: the nodes taken, the ranks, the prediction beside the runner-up.
// `free` is what was free before, by node_id.
[[nodiscard]] std::string placement_page(const placed_job& job, std::span<const topo::gpu_mask> free,
                                         const topo::findings& notes);

// The page of `atoll explain --html`: the sentences, all choices side by side with their terms, fabric and nodes.
[[nodiscard]] std::string explanation_page(const explained_job& job, std::span<const topo::gpu_mask> free,
                                           const topo::findings& notes);

// The page of `atoll simulate --html`: figures of all policies side by side, and plots of them.
[[nodiscard]] std::string simulation_page(const simulation& s);

}  // namespace cli::render
