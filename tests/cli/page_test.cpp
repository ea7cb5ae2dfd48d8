// SPDX-License-Identifier: Apache-2.0
// The HTML pages, as text and in a real browser.
#include <doctest/doctest.h>

#include "atoll_run.hpp"

using namespace cli_test;

namespace {

std::string page_of(const std::vector<std::string>& words) {
    const scratch dir;
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--html", dir.file("page.html")});
    CHECK(run_atoll(all).code == 0);
    return read_all(dir.file("page.html"));
}

// The page after a browser has read it; "" with a note when there is no browser.
std::string in_browser(const std::string& page, const std::vector<std::string>& more, const scratch& dir) {
    std::vector<std::string> words{"chromium", "--headless", "--no-sandbox", "--disable-gpu",
                                   "--user-data-dir=" + dir.file("profile")};
    words.insert(words.end(), more.begin(), more.end());
    words.push_back("file://" + dir.write("page.html", page));
    const ran r = program(words, "", {"HOME=" + dir.path()});
    CHECK(r.code == 0);
    return r.out;
}

// A cluster whose every name tries to break out of its place.
std::string hostile_cluster() {
    std::string text = read_all(example("a100-pcie-bridges.yaml"));
    const auto replace = [&](const std::string& what, const std::string& by) {
        for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
            text.replace(at, what.size(), by);
    };
    replace("\nname: a100-pcie-bridges\n", "\nname: '</title><script>document.title=\"owned\"</script>'\n");
    replace("model: NVIDIA A100 80GB PCIe", "model: '\"><img src=x onerror=\"document.title=1\">'");
    replace("name: mlx5_0", "name: '<svg onload=\"document.title=1\">'");
    replace("leaf[1-2]", "leaf1,leaf2");
    replace("leaf1", "</text><script>document.title=1</script>");
    return text;
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

}  // namespace

TEST_CASE("the report is self-contained, without script, and holds the values as text") {
    const std::string page = page_of({"show", example("dgx-h100-64.yaml")});
    CHECK(page.starts_with("<!DOCTYPE html>"));
    for (const char* forbidden : {"<script", "http://", "https://", "src=", "@import", "url(", "<link", "<img"})
        CHECK_FALSE(contains(page, forbidden));
    CHECK(contains(page, "Content-Security-Policy"));
    CHECK(contains(page, "prefers-color-scheme:dark"));
    CHECK(contains(page, "<b>SIMULATED</b>"));
    CHECK(contains(page, "<th scope=\"row\">GPU7</th>"));
    CHECK(contains(page, "NV18 between all 8"));
    CHECK(contains(page, "GPU0 → GPU1: "));
    for (const char* leaf : {"leaf1", "leaf2", "leaf3", "leaf4"}) CHECK(contains(page, leaf));
    CHECK(count(page, "<table") == count(page, "</table>"));
    CHECK(count(page, "<section") == count(page, "</section>"));
    CHECK(page.size() < 400'000);
}

TEST_CASE("hostile names stay names") {
    const scratch dir;
    const std::string file = dir.write("evil.yaml", hostile_cluster());
    const ran valid = run_atoll({"validate", file});
    CAPTURE(valid.err);
    REQUIRE(valid.code == 0);
    for (const std::string& page :
         {page_of({"show", file}), page_of({"place", file, "--nodes", "2", "--gpus-per-node", "8"}),
          page_of({"explain", file, "--nodes", "2", "--gpus-per-node", "8"})}) {
        for (const char* broken : {"<script", "<img", "<svg onload", "\"><", "onerror=\"", "onload=\""}) {
            CAPTURE(broken);
            if (std::string(broken) == "\"><") continue;  // our own markup has it
            CHECK_FALSE(contains(page, broken));
        }
        CHECK(contains(page, "&lt;/text&gt;&lt;script&gt;"));
        if (!installed("chromium")) continue;
        const std::string dom = in_browser(page, {"--dump-dom"}, dir);
        CHECK_FALSE(contains(dom, "<title>1</title>"));
        CHECK_FALSE(contains(dom, "<title>owned</title>"));
        CHECK(count(dom, "<script") == 0);
        CHECK(count(dom, "<img") == 0);
    }
}

TEST_CASE("a browser lays the report out as tables, pictures and findings") {
    if (!installed("chromium")) {
        MESSAGE("not run: chromium is not installed");
        return;
    }
    const scratch dir;
    const std::string page = page_of({"show", example("a100-pcie-bridges.yaml")});
    const std::string dom = in_browser(page, {"--dump-dom"}, dir);
    CHECK(count(dom, "<table class=\"heat\">") >= 5);
    CHECK(count(dom, "<svg") == 2);
    // Every read-out says all of its pair, so the pair has one in the bandwidth map and one in the latency map.
    const std::string tip = "data-tip=\"GPU0 → GPU2: 240 GB/s, 2.00 µs, NV12; estimated\"";
    CHECK(count(dom, tip + ">240<") == 1);
    CHECK(count(dom, tip + ">2.00<") == 1);
    CHECK(count(dom, tip) == 2);
    CHECK(contains(dom, "<title>a100-pcie-bridges · Atoll</title>"));
    const std::string png = dir.file("page.png");
    in_browser(page, {"--window-size=1280,2200", "--hide-scrollbars", "--screenshot=" + png}, dir);
    CHECK(read_all(png).size() > 50'000);  // an empty page is a tenth of that
}

TEST_CASE("the placement page shows ranks, free and busy GPUs, and the runner-up") {
    const std::string page = page_of({"place", example("a100-pcie-bridges.txt"), "--gpus", "2", "--free", "1,3,4,5"});
    CHECK(count(page, "gpu taken") == 2);
    CHECK(count(page, "gpu busy") == 4);
    CHECK(contains(page, ">rank 0<"));
    CHECK(contains(page, "runner-up"));
    const std::string tree = page_of({"place", example("dgx-h100-64.yaml"), "--nodes", "4", "--gpus-per-node", "8"});
    CHECK(count(tree, "leaf taken") == 1);
    CHECK(contains(tree, "4 of 16 nodes"));
}

TEST_CASE("a large fabric is drawn in part and counted in whole") {
    std::string conf;
    for (int i = 0; i < 320; ++i)
        conf += "SwitchName=leaf" + std::to_string(i) + " Nodes=n" + std::to_string(i) + "[00-31]\n";
    conf += "SwitchName=top Switches=leaf[0-319]\n";
    const scratch dir;
    const std::string page = page_of({"show", dir.write("topology.conf", conf)});
    CHECK(contains(page, "24 of 320 leaves are drawn"));
    CHECK(page.size() < 200'000);
}

TEST_CASE("a page that cannot be written leaves nothing and says so") {
    const scratch dir;
    const ran r = run_atoll({"show", example("a100-pcie-bridges.yaml"), "--html", dir.file("no/page.html")});
    CHECK(r.code == 2);
    CHECK(contains(r.err, "page.html"));
    CHECK(dir.names().empty());
    const ran out = run_atoll({"show", example("a100-pcie-bridges.yaml"), "--html", "-"});
    CHECK(out.code == 0);
    CHECK(out.out.starts_with("<!DOCTYPE html>"));
}
