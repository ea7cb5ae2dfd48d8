// SPDX-License-Identifier: Apache-2.0
// Texts that users give to --atoll, and that tasks find in their environment: refused, or in their bounds.
#include "plugin/slurm/job_hint.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "plugin/spank/task_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    slurm_plugin::job_hint hint;
    slurm_plugin::hint_fault fault;
    if (slurm_plugin::parse_hint(text, hint, fault)) {
        placement::request wanted;
        if (slurm_plugin::apply_hint(hint, 64, wanted) && !placement::fault_of(wanted, 64).empty()) std::abort();
    } else if (fault.why == nullptr) {
        std::abort();
    }
    if (slurm_plugin::task_counts(text, 100).size() > 100) std::abort();
    const auto gpus = slurm_plugin::gpu_numbers(text);
    for (std::uint32_t tasks = 1; tasks < 9 && !gpus.empty(); ++tasks)
        if (slurm_plugin::share_of(gpus, tasks - 1, tasks).empty()) std::abort();
    (void)slurm_plugin::reordered(slurm_plugin::device_words(text), gpus, gpus);
    return 0;
}
