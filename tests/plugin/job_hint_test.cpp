// SPDX-License-Identifier: GPL-2.0-or-later
// The text of --atoll, which comes from users.
#include "plugin/slurm/job_hint.hpp"

#include <doctest/doctest.h>

#include <string>

using slurm_plugin::hint_fault;
using slurm_plugin::job_hint;

namespace {

job_hint good(std::string_view text) {
    job_hint hint;
    hint_fault fault;
    CHECK_MESSAGE(slurm_plugin::parse_hint(text, hint, fault), std::string(text));
    return hint;
}

}  // namespace

TEST_CASE("every key") {
    const job_hint all = good("pattern=all-to-all,message=1.5Gi,tp=8,pp=2,dp=4,ep=2,policy=spread");
    CHECK(all.talks == placement::pattern::all_to_all);
    CHECK(all.message_bytes == 1610612736);
    CHECK(all.tp == 8);
    CHECK(all.pp == 2);
    CHECK(all.dp == 4);
    CHECK(all.ep == 2);
    CHECK(all.how == job_hint::policy::spread);
    CHECK(good("policy=off").how == job_hint::policy::off);
    CHECK_FALSE(good("policy=pack").talks);
}

TEST_CASE("what is refused, with the part and what to write") {
    for (const std::string& text : {std::string(),
                                    std::string(","),
                                    std::string("tp"),
                                    std::string("tp="),
                                    std::string("=8"),
                                    std::string("tp=0"),
                                    std::string("tp=-1"),
                                    std::string("tp=1048577"),
                                    std::string("tp=4294967297"),
                                    std::string("tp=2x"),
                                    std::string("tp= 2"),
                                    std::string("TP=2"),
                                    std::string("tp=2,"),
                                    std::string("tp=2,tp=2"),
                                    std::string("message=nan"),
                                    std::string("message=inf"),
                                    std::string("message=-1"),
                                    std::string("message=0"),
                                    std::string("message=2T"),
                                    std::string("pattern="),
                                    std::string("pattern=rings"),
                                    std::string("pattern=traffic_matrix"),
                                    std::string("policy=fast"),
                                    std::string("policy=off;id"),
                                    std::string("a\0b", 3),
                                    std::string(513, 'x'),
                                    std::string(1 << 20, '=')}) {
        job_hint hint;
        hint_fault fault;
        CHECK_FALSE_MESSAGE(slurm_plugin::parse_hint(text, hint, fault), text.substr(0, 40));
        CHECK(fault.why != nullptr);
    }
}

TEST_CASE("a hint that cannot be meant for so many ranks changes nothing") {
    placement::request wanted;
    CHECK(slurm_plugin::apply_hint(good("tp=4,pp=2"), 16, wanted));
    CHECK(wanted.talks == placement::pattern::composite);
    CHECK(wanted.parallel.tp == 4);
    placement::request same;
    CHECK_FALSE(slurm_plugin::apply_hint(good("tp=3,message=1G"), 16, same));
    CHECK(same.talks == placement::pattern::ring_allreduce);
    CHECK(same.message_bytes == 64e6);
    CHECK(slurm_plugin::apply_hint(good("message=1G"), 16, same));
    CHECK(same.message_bytes == 1e9);
    CHECK(same.talks == placement::pattern::ring_allreduce);
}
