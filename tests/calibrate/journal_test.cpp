// SPDX-License-Identifier: Apache-2.0
#include "calibrate/journal.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "support.hpp"
#include "topo/file.hpp"

namespace {

// A file of its own in a folder of its own that goes away with it.
class temporary {
public:
    temporary() {
        std::string form = (std::filesystem::temp_directory_path() / "atoll-journal-XXXXXX").string();
        REQUIRE(mkdtemp(form.data()) != nullptr);
        folder_ = form;
    }
    ~temporary() {
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    [[nodiscard]] std::string path() const { return (folder_ / "run.jsonl").string(); }
    [[nodiscard]] std::string text() const {
        std::ifstream in(path(), std::ios::binary);
        std::ostringstream all;
        all << in.rdbuf();
        return all.str();
    }
    void write(const std::string& text) const { std::ofstream(path(), std::ios::binary) << text; }

private:
    std::filesystem::path folder_;
};

topo::result<calibrate::run_output> run(const std::string& model, std::uint64_t seed,
                                        const calibrate::run_options& options, std::size_t stop_at = 100000) {
    struct stopper : testing::recorder {
        std::atomic<bool> stop = false;
        std::size_t at = 0;
        void on_cell(const calibrate::cell_report& finished) override {
            recorder::on_cell(finished);
            if (cells.size() >= at) stop = true;
        }
    } watch;
    watch.at = stop_at;
    auto m = testing::simulated(model, seed);
    const auto p = calibrate::make_plan(*m, {});
    REQUIRE(p);
    calibrate::run_options with_stop = options;
    with_stop.cancel = &watch.stop;
    return calibrate::run_node(*m, *p, with_stop, watch);
}

std::vector<calibrate::cell_report> timeless(std::vector<calibrate::cell_report> cells) {
    for (auto& c : cells) c.value.time = 0;
    return cells;
}

calibrate::run_options logged(const temporary& t, bool resume) {
    calibrate::run_options out;
    out.log_path = t.path();
    out.resume = resume;
    return out;
}

}  // namespace

TEST_CASE("a run that was stopped, and stopped again, and resumed, finds what an undisturbed run finds") {
    const auto whole = run("dgx-h100", 4, {});
    REQUIRE(whole);
    const temporary t;
    const auto first = run("dgx-h100", 4, logged(t, false), 50);
    REQUIRE(first);
    CHECK_FALSE(first->complete);
    const auto second = run("dgx-h100", 4, logged(t, true), 100);
    REQUIRE(second);
    CHECK(second->done >= first->done + 100);
    const auto last = run("dgx-h100", 4, logged(t, true));
    REQUIRE(last);
    CHECK(last->complete);
    CHECK(timeless(last->cells) == timeless(whole->cells));
}

TEST_CASE("a crash in the middle of a line loses that cell only") {
    const temporary t;
    REQUIRE(run("dgx1-v100", 4, logged(t, false), 20));
    const std::string all = t.text();
    for (const std::size_t cut : {1u, 10u, 100u, 250u}) {
        t.write(all.substr(0, all.size() - cut));
        const auto out = run("dgx1-v100", 4, logged(t, true));
        if (!out) FAIL(out.failure().message());
        CHECK(out->complete);
    }
    t.write("");
    CHECK(run("dgx1-v100", 4, logged(t, true), 1));
    t.write("{\"atoll\":");
    CHECK(run("dgx1-v100", 4, logged(t, true), 1));
    std::filesystem::remove(t.path());
    CHECK(run("dgx1-v100", 4, logged(t, true), 1));
}

TEST_CASE("the log of another machine, and broken logs, are refused with file and line") {
    const temporary t;
    REQUIRE(run("dgx1-v100", 4, logged(t, false), 3));
    const std::string good = t.text();
    const std::string header = good.substr(0, good.find('\n') + 1);
    const std::string cell = good.substr(header.size(), good.find('\n', header.size()) + 1 - header.size());
    const auto refused = [&](const std::string& text, int line) {
        CAPTURE(text);
        t.write(text);
        const auto out = run("dgx1-v100", 4, logged(t, true), 1);
        REQUIRE_FALSE(out);
        CHECK(out.failure().code == topo::errc::bad_input);
        CHECK(out.failure().where == t.path() + ":" + std::to_string(line));
        CHECK_FALSE(out.failure().remedy.empty());
        CHECK(t.text() == text);  // never damaged by refusing it
    };
    const auto swapped = [&](const std::string& from, const std::string& to) {
        std::string text = cell;
        const auto at = text.find(from);
        REQUIRE(at != std::string::npos);
        return header + text.replace(at, from.size(), to);
    };
    t.write(good);
    CHECK_FALSE(run("dgx1-v100", 5, logged(t, true), 1));  // another seed is another machine
    CHECK_FALSE(run("dgx-h100", 4, logged(t, true), 1));
    refused("hello\n", 1);
    refused("[]\n", 1);
    refused("{\"atoll\":\"calibration log\",\"version\":2}\n", 1);
    refused(header + "\n", 2);
    refused(header + "{}\n", 2);
    refused(header + std::string("\0\x01\xff\n", 4), 2);
    refused(header + std::string(5000, ' ') + "\n", 2);
    refused(header + std::string(4000, '[') + "\n", 2);
    refused(header + cell + "{\"from\": 3}\n", 3);
    refused(swapped("\"gb_per_s\":", "\"gb_per_s\":-"), 2);
    refused(swapped("\"alpha_us\":", "\"alpha_us\":-"), 2);
    refused(swapped("\"engine\":\"ce\"", "\"engine\":\"warp\""), 2);
    refused(swapped("\"from\":\"GPU-", "\"from\":\"GPU-0"), 2);
    refused(swapped("\"noisy\":false", "\"noisy\":\"no\""), 2);
}

TEST_CASE("a log that cannot be written is an error before anything is measured") {
    calibrate::run_options options;
    options.log_path = "/no/such/folder/run.jsonl";
    const auto out = run("dgx1-v100", 4, options);
    REQUIRE_FALSE(out);
    CHECK(out.failure().code == topo::errc::io);
}
