// SPDX-License-Identifier: Apache-2.0
// Trace readers: what they read, and that nothing hostile gets further than an error with place and remedy.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "placement/simulate/mix.hpp"
#include "placement/simulate/trace.hpp"

using namespace placement::simulate;

namespace {

const std::string philly =
    "timestamp,duration,num_gpus,gpu_time,cluster\n"
    "2017-10-09 07:01:55,66.0,1,66.0,a\n"
    "2017-10-09 06:13:03,2951.5,4,0,b\r\n"
    "\n"
    "2017-10-10 00:00:00,10,0,0,c\n";

const std::string alibaba =
    "name,cpu_milli,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
    "p0,1,1,460,100,300,150\n"
    "p1,1,0,0,0,10,5\n"
    "p2,1,8,1000,40,1040,40\n"
    "p3,1,2,1000,50,,60\n"
    "p4,1,2,1000,50,70,\n";

const std::string sacct =
    "JobID|Submit|Start|End|Elapsed|ReqTRES|AllocTRES|NNodes\n"
    "12|2026-01-31T23:59:30|2026-02-01T00:00:00|2026-02-01T01:00:00|01:00:00|billing=8|cpu=64,gres/gpu:h100=16,"
    "gres/gpu=16,mem=1T,node=2|2\n"
    "12.batch|2026-01-31T23:59:30|2026-02-01T00:00:00|2026-02-01T01:00:00|01:00:00||cpu=64,gres/gpu=8|1\n"
    "13|2026-01-31T23:59:00|Unknown|Unknown|00:00:00|gres/gpu=4||1\n"
    "14|2026-01-31T23:58:00|2026-02-01T00:00:00|Unknown|1-00:00:00|gres/gpu=4|gres/gpu=4|1\n"
    "15|2026-01-31T23:58:00|2026-02-01T00:00:00|2026-02-01T00:00:10|00:00:10|cpu=1|cpu=1|1\n"
    "16|2026-01-31T23:58:30|2026-02-01T00:00:00|2026-02-01T00:00:10|00:00:10|gres/gpu:a100=2,gres/gpu:h100=1||1\n";

std::string message(const topo::result<trace>& r) {
    REQUIRE_FALSE(r.has_value());
    CHECK(!r.failure().where.empty());
    CHECK(!r.failure().what.empty());
    CHECK(!r.failure().remedy.empty());
    CHECK(r.failure().message().size() < 2000);
    return r.failure().message();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("Philly CSV: sorted by arrival, from 0, rows without GPUs counted") {
    const auto t = parse_trace(philly, "p.csv");
    REQUIRE(t);
    CHECK(t->form == "Philly CSV");
    REQUIRE(t->jobs.size() == 2);
    CHECK(t->without_gpus == 1);
    CHECK(t->jobs[0].submit_s == 0);
    CHECK(t->jobs[0].duration_s == 2951.5);
    CHECK(t->jobs[0].gpus == 4);
    CHECK(t->jobs[1].submit_s == 48 * 60 + 52);
    CHECK(t->jobs[1].gpus == 1);
}

TEST_CASE("Philly CSV: columns in any order, seconds as times, quotes, a byte order mark") {
    const auto t = parse_trace("\xef\xbb\xbfNum_GPUs,note,Duration,Timestamp\n3,\"a, b\",7,100.5\n1,x,1,1e2\n", "p");
    REQUIRE(t);
    REQUIRE(t->jobs.size() == 2);
    CHECK(t->jobs[0].gpus == 1);
    CHECK(t->jobs[1].submit_s == 0.5);
    CHECK(t->jobs[1].gpus == 3);
}

TEST_CASE("Alibaba pods: run from scheduled to deleted") {
    const auto t = parse_trace(alibaba, "pods.csv");
    REQUIRE(t);
    CHECK(t->form == "Alibaba pod list");
    REQUIRE(t->jobs.size() == 2);
    CHECK(t->without_gpus == 1);
    CHECK(t->not_ended == 2);
    CHECK(t->jobs[0].gpus == 8);
    CHECK(t->jobs[0].duration_s == 1000);
    CHECK(t->jobs[1].submit_s == 60);
    CHECK(t->jobs[1].duration_s == 150);
}

TEST_CASE("sacct: steps, jobs without GPUs and jobs without an end are left out and counted") {
    const auto t = parse_trace(sacct, "sacct.txt");
    REQUIRE(t);
    CHECK(t->form == "sacct");
    REQUIRE(t->jobs.size() == 2);
    CHECK(t->other_rows == 1);
    CHECK(t->without_gpus == 1);
    CHECK(t->not_ended == 2);
    CHECK(t->jobs[0].gpus == 3);  // the typed ones, summed
    CHECK(t->jobs[1].gpus == 16);
    CHECK(t->jobs[1].nodes == 2);
    CHECK(t->jobs[1].submit_s == 60);
    CHECK(t->jobs[1].duration_s == 3600);
}

TEST_CASE("sacct: elapsed stands in for start and end") {
    const auto t = parse_sacct(
        "JobID|Submit|Elapsed|ReqTRES\n1|2026-02-28T12:00:00|1-02:03:04|gres/gpu=1\n2|2026-03-01T12:00:00|05:06|gres/"
        "gpu=1\n",
        "s");
    REQUIRE(t);
    CHECK(t->jobs[0].duration_s == 86400 + 7384);
    CHECK(t->jobs[1].submit_s == 86400);
    CHECK(t->jobs[1].duration_s == 306);
}

TEST_CASE("what is wrong is named with line, text and remedy") {
    const std::string head = "timestamp,duration,num_gpus\n";
    const auto at = [&](const std::string& row) { return message(parse_trace(head + "5,5,5\n" + row, "t.csv")); };
    CHECK(contains(at("yesterday,5,1\n"), "t.csv:3: timestamp 'yesterday'"));
    CHECK(contains(at("2017-13-01 00:00:00,5,1\n"), "2017-13-01"));
    CHECK(contains(at("2017-02-29 00:00:00,5,1\n"), "2017-02-29"));
    CHECK(contains(at("5,-1,1\n"), "duration '-1'"));
    CHECK(contains(at("5,nan,1\n"), "duration 'nan'"));
    CHECK(contains(at("5,inf,1\n"), "duration 'inf'"));
    CHECK(contains(at("5,1e300,1\n"), "duration '1e300'"));
    CHECK(contains(at("5,5h,1\n"), "duration '5h'"));
    CHECK(contains(at("5,5,1.5\n"), "num_gpus '1.5'"));
    CHECK(contains(at("5,5,-2\n"), "num_gpus '-2'"));
    CHECK(contains(at("5,5,99999999999\n"), "num_gpus '99999999999'"));
    CHECK(contains(at("5,5\n"), "2 fields where the first line has 3"));
    CHECK(contains(at("5,5,5,5\n"), "4 fields"));
    CHECK(contains(at("5,5,\"5\n,5\n"), "fields"));
    CHECK(contains(message(parse_trace("timestamp,duration,num_gpus,Duration\n", "t")), "twice"));
    CHECK(contains(message(parse_trace("time,duration,num_gpus\n", "t")), "no column 'timestamp'"));
    CHECK(contains(message(parse_trace("a,b\n1,2\n", "t")), "no trace known"));
    CHECK(contains(message(parse_trace("", "t")), "t:1"));
    CHECK(contains(message(parse_sacct("JobID|Submit|Start|End\n", "t")), "AllocTRES"));
    CHECK(contains(message(parse_sacct("JobID|Submit|AllocTRES\n", "t")), "Elapsed"));
    CHECK(contains(message(parse_sacct("Submit|Elapsed|AllocTRES\n2026-01-01T00:00:00|1|gres/gpu=2\n", "t")),
                   "Elapsed '1'"));
    CHECK(contains(message(parse_sacct("Submit|Elapsed|AllocTRES\n2026-01-01T00:00:00|00:01|gres/gpu=two\n", "t")),
                   "gres/gpu=N"));
    CHECK(contains(message(parse_alibaba("num_gpu,creation_time,deletion_time\n1,50,40\n", "t")), "after the start"));
}

TEST_CASE("hostile text: binary, huge lines and fields, cut anywhere, bytes changed") {
    (void)message(parse_trace(std::string("timestamp,duration,num_gpus\n1,1,\0\n", 33), "t"));
    (void)message(parse_trace("timestamp,duration,num_gpus\n" + std::string(70'000, '1') + "\n", "t"));
    (void)message(parse_trace("num_gpus" + std::string(5'000, ',') + "\n", "t"));
    (void)message(parse_trace(std::string(200'000, 'x'), "t"));
    (void)message(parse_trace(std::string(1'000, '|') + "submit", "t"));
    for (const auto* text : {&philly, &alibaba, &sacct}) {
        for (std::size_t cut = 0; cut < text->size(); ++cut) {
            const auto t = parse_trace(text->substr(0, cut), "t");
            if (!t) (void)message(t);
        }
        std::mt19937 random(7);
        for (int i = 0; i < 3000; ++i) {
            std::string changed = *text;
            changed[random() % changed.size()] = static_cast<char>(random());
            const auto t = parse_trace(changed, "t");
            if (!t) {
                (void)message(t);
                continue;
            }
            for (const auto& j : t->jobs) {
                CHECK(j.submit_s >= 0);
                CHECK(std::isfinite(j.duration_s));
                CHECK(j.duration_s >= 0);
                CHECK(j.gpus > 0);
            }
        }
    }
}

TEST_CASE("sizes and load of a trace are changed as asked, or not at all") {
    auto t = *parse_trace("timestamp,duration,num_gpus\n0,100,1\n50,100,3\n100,100,2\n", "t");
    CHECK(t.load(6) == doctest::Approx(1));  // 600 GPU seconds over 100 s
    REQUIRE(t.scale_gpus(8));
    CHECK(t.jobs[1].gpus == 24);
    CHECK_FALSE(t.scale_gpus(1'000'000));
    CHECK(t.jobs[1].gpus == 24);
    t.set_load(0.5, 48);
    CHECK(t.load(48) == doctest::Approx(0.5));
    CHECK(t.jobs[1].submit_s == doctest::Approx(100));
    t.keep_first(1);
    CHECK(t.jobs.size() == 1);
    CHECK(std::isinf(t.load(8)));
    t.set_load(0.5, 8);  // nothing to stretch
    CHECK(t.jobs[0].submit_s == 0);
}

TEST_CASE("mixes: seeded, of the asked load, sizes as documented") {
    for (const auto kind : {mix_kind::llm, mix_kind::lognormal, mix_kind::pow2}) {
        const mix_options how{kind, 20'000, 0.9, 4096, 512, 5};
        const trace a = make_mix(how);
        const trace b = make_mix(how);
        REQUIRE(a.jobs.size() == 20'000);
        CHECK(a.load(4096) == doctest::Approx(0.9));
        double last = 0;
        bool odd = false;
        std::size_t single = 0;
        double work = 0, large = 0;
        for (std::size_t i = 0; i < a.jobs.size(); ++i) {
            const job& j = a.jobs[i];
            REQUIRE(j.submit_s == b.jobs[i].submit_s);
            REQUIRE(j.gpus == b.jobs[i].gpus);
            REQUIRE(j.duration_s == b.jobs[i].duration_s);
            REQUIRE(j.submit_s >= last);
            REQUIRE(j.gpus >= 1);
            REQUIRE(j.gpus <= 512);
            REQUIRE(j.duration_s > 0);
            last = j.submit_s;
            odd |= (j.gpus & (j.gpus - 1)) != 0;
            single += j.gpus == 1 ? 1 : 0;
            work += j.gpus * j.duration_s;
            large += j.gpus >= 64 ? j.gpus * j.duration_s : 0;
        }
        CHECK(odd == (kind == mix_kind::lognormal));
        if (kind == mix_kind::llm) {
            CHECK(static_cast<double>(single) / 20'000 == doctest::Approx(0.25).epsilon(0.05));
            CHECK(large / work > 0.5);
        }
        mix_options other = how;
        other.seed = 6;
        CHECK(make_mix(other).jobs[5].gpus * 1e9 + make_mix(other).jobs[5].duration_s !=
              a.jobs[5].gpus * 1e9 + a.jobs[5].duration_s);
        CHECK(mix_named(name_of(kind)) == kind);
    }
    CHECK_FALSE(mix_named("mix:").has_value());
    CHECK(make_mix({mix_kind::llm, 10, 0, 100, 512, 1}).jobs.empty());
    for (const auto& j : make_mix({mix_kind::llm, 500, 0.5, 16, 16, 1}).jobs) CHECK(j.gpus <= 16);
}
