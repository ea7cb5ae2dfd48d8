// SPDX-License-Identifier: Apache-2.0
// Jobs to replay: what arrives when, how many GPUs for how long. Read from the text of three kinds of file.
//
// Example:
//   auto t = placement::simulate::parse_trace(text, "philly.csv");
//   if (t) t->scale_gpus(8);
//
// Pure: text in, jobs or an error out; no file is opened here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/result.hpp"

namespace placement::simulate {

inline constexpr std::size_t max_jobs = 10'000'000;       // readers refuse more
inline constexpr std::uint32_t max_job_gpus = 1'000'000;  // of one job; readers refuse more
inline constexpr double max_seconds = 1e11;               // 3,000 years; readers refuse more, and less than −10¹¹

struct job {
    double submit_s = 0;    // from the first job of the trace
    double duration_s = 0;  // ≥ 0; how long it runs once it has started
    std::uint32_t gpus = 1;
    std::uint32_t nodes = 0;  // as the trace says; 0: it does not
};

struct trace {
    std::string form;       // "Philly CSV", "mix:llm, seed 1"
    std::vector<job> jobs;  // by submit time, in file order where equal; the first at 0
    // Rows that are no job to replay, and why.
    std::uint64_t without_gpus = 0;
    std::uint64_t not_ended = 0;   // never started, or still running
    std::uint64_t other_rows = 0;  // job steps

    // Every job this many times as large (and its nodes); false when one would pass max_job_gpus: nothing is changed.
    [[nodiscard]] bool scale_gpus(std::uint32_t factor) noexcept;
    // Stretches the arrivals so that the jobs, offered as they come, would keep `load` of `gpus` busy over the span of
    // the arrivals. Nothing happens without a span or without work. O(jobs).
    void set_load(double load, double gpus) noexcept;
    // Σ GPUs · duration ÷ (span of the arrivals · gpus); infinite without a span. O(jobs).
    [[nodiscard]] double load(double gpus) const noexcept;
    // Keeps the first so many.
    void keep_first(std::size_t most);
};

enum class trace_form : std::uint8_t { philly, alibaba, sacct };

// By the column names of the first line; empty when it is none of the three.
[[nodiscard]] std::optional<trace_form> form_of(std::string_view text) noexcept;

// form_of(), then that reader. All fail with bad_input or limit; the place is "place:line". O(length).
[[nodiscard]] topo::result<trace> parse_trace(std::string_view text, const std::string& place);

// The reduced Philly trace and what looks like it: CSV with a header that names timestamp (seconds, or "2017-10-09
// 07:01:55", 'T' between and a fraction allowed), duration (seconds) and num_gpus, in any order, other columns ignored.
// Rows with 0 GPUs are counted and left out.
[[nodiscard]] topo::result<trace> parse_philly(std::string_view text, const std::string& place);

// Alibaba's openb_pod_list CSV (cluster-trace-gpu-v2023): num_gpu, creation_time, deletion_time, and scheduled_time
// when it is there (seconds). The pod arrives at its creation and runs from scheduled_time (else creation) to deletion.
// A pod that shares one GPU (gpu_milli < 1000) takes it whole. Pods without GPU or without an end are left out,
// counted.
[[nodiscard]] topo::result<trace> parse_alibaba(std::string_view text, const std::string& place);

// `sacct --parsable2 --format=JobID,Submit,Start,End,ReqTRES,AllocTRES,NNodes`, '|' between the fields, columns in any
// order: Submit, and Start with End or Elapsed ([D-]HH:MM:SS), and AllocTRES or ReqTRES (gres/gpu=N; the first one that
// says how many, AllocTRES before ReqTRES) must be there. Steps ("12.batch") and jobs without GPUs or without start and
// end are left out, counted.
[[nodiscard]] topo::result<trace> parse_sacct(std::string_view text, const std::string& place);

}  // namespace placement::simulate
