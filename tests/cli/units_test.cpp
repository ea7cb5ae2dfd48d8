// SPDX-License-Identifier: Apache-2.0
// Sizes, text, heat scale and progress, without a process between.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "cli/load.hpp"
#include "cli/render/heat.hpp"
#include "cli/render/progress.hpp"
#include "cli/render/table.hpp"
#include "cli/render/text.hpp"
#include "cli/size.hpp"

using namespace cli;

namespace {

topo::cost simulated(double gb_per_s, double alpha_us) {
    topo::cost c;
    c.gb_per_s = gb_per_s;
    c.alpha_us = alpha_us;
    c.from = c.alpha_from = topo::source::simulated;
    return c;
}

// Four GPUs, all pairs at 100 GB/s and 1 µs but 0 → 1.
topo::node_class four(double odd_gb, double odd_us) {
    topo::node_class h;
    for (int i = 0; i < 4; ++i)
        h.gpus.push_back(
            {.name = "GPU" + std::to_string(i), .model = {}, .uuid = {}, .pci = {}, .numa = 0, .cpus = {}});
    topo::cost_layer layer;
    layer.cells = topo::matrix<topo::cost>(4, 4);
    for (std::size_t r = 0; r < 4; ++r)
        for (std::size_t c = 0; c < 4; ++c)
            if (r != c) layer.cells(r, c) = r == 0 && c == 1 ? simulated(odd_gb, odd_us) : simulated(100, 1);
    h.layers.push_back(layer);
    return h;
}

}  // namespace

TEST_CASE("sizes: powers of 1000 and of 1024") {
    const std::pair<const char*, double> good[] = {
        {"1", 1},        {"4096", 4096}, {"64k", 64e3}, {"64M", 64e6},      {"64MB", 64e6},         {"64mb", 64e6},
        {"1.5G", 1.5e9}, {"2T", 2e12},   {"1Ki", 1024}, {"64Mi", 67108864}, {"1GiB", 1073741824.0}, {"100B", 100},
        {"0.5k", 500}};
    for (const auto& one : good) {
        const auto& text = one.first;
        CAPTURE(text);
        const auto got = parse_size(text, "--message");
        REQUIRE(got);
        CHECK(*got == one.second);
    }
    for (const char* text : {"", "M", "-1", "+1", "0", "0.2", "1e9", "nan", "inf", "64X", "64Mx", "64 M", "1i", "1iB",
                             "1e400", "9999999T", "1M1"}) {
        CAPTURE(text);
        const auto got = parse_size(text, "--message");
        REQUIRE_FALSE(got);
        CHECK(got.failure().where == "--message");
        CHECK_FALSE(got.failure().remedy.empty());
    }
}

TEST_CASE("one is singular") {
    using render::counted;
    CHECK(counted(0, "GPU") == "0 GPUs");
    CHECK(counted(1, "GPU") == "1 GPU");
    CHECK(counted(2, "GPU") == "2 GPUs");
    CHECK(counted(1, "class", "classes") == "1 class");
    CHECK(counted(3, "class", "classes") == "3 classes");
}

TEST_CASE("text for terminals and pages hides what is not text") {
    using namespace render;
    CHECK(printable("g1 µ é 日") == "g1 µ é 日");
    CHECK(printable("a\x1b[31mb\n") == "a\\x1b[31mb\\x0a");
    CHECK(printable("\xff\xc0\x80") == "\\xff\\xc0\\x80");
    CHECK(printable("a\xe2\x80\xae"
                    "b") == "a\\xe2\\x80\\xaeb");  // right-to-left override
    CHECK(printable("\xc2\x9b"
                    "31m") == "\\xc2\\x9b31m");             // one-byte CSI of C1
    CHECK(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");  // a surrogate
    CHECK(html("<a href=\"x\" b='&'>") == "&lt;a href=&quot;x&quot; b=&#39;&amp;&#39;&gt;");
    CHECK(html(std::string("\0<", 2)) == "\xef\xbf\xbd&lt;");
    CHECK(columns("µé日") == 3);
    CHECK(shorten("mlx5_bond_very_long", 8) == "mlx5_bo…");
    CHECK(shorten("日日日", 2) == "日…");
    CHECK(short_number(371.4) == "371");
    CHECK(short_number(25.24) == "25.2");
    CHECK(short_number(0.953) == "0.95");
    CHECK(short_number(99.96) == "100");
    CHECK(short_number(INFINITY) == "unknown");
    CHECK(duration(1.2e6) == "1.20 s");
    CHECK(date(1793404800) == "2026-10-31 00:00 UTC");
    CHECK(date(0) == "unknown");
    CHECK(render::size(64e6) == "64 MB");
}

TEST_CASE("the heat scale does not paint noise, and marks what is clearly worse") {
    using namespace render;
    const topo::node_class healthy = four(98, 1.05);
    const heat_table calm = heat_of(healthy, healthy.layers[0], quantity::bandwidth);
    CHECK(calm.odd == 0);
    CHECK(calm.cells(0, 1).goodness > 0.95);
    CHECK_FALSE(calm.cells(0, 0).present);
    CHECK(calm.cells(0, 0).text == "-");
    const topo::node_class sick = four(50, 4);
    const heat_table slow = heat_of(sick, sick.layers[0], quantity::bandwidth);
    CHECK(slow.odd == 1);
    CHECK(slow.cells(0, 1).odd);
    CHECK(slow.cells(0, 1).goodness == doctest::Approx(0));
    CHECK(slow.cells(1, 0).goodness == doctest::Approx(1));
    const heat_table late = heat_of(sick, sick.layers[0], quantity::latency);
    CHECK(late.cells(0, 1).odd);
    CHECK(late.cells(0, 1).goodness == doctest::Approx(0));
    const topo::node_class zero = four(100, 0);
    CHECK(std::isfinite(heat_of(zero, zero.layers[0], quantity::latency).cells(0, 1).goodness));
    const std::string text = text_of(slow, style{});
    CHECK(text.find("50.0!") != std::string::npos);
    CHECK(text.find('\x1b') == std::string::npos);
    CHECK(text.find(" \n") == std::string::npos);
    const std::string tip = tip_of(sick, sick.layers[0], 0, 1);
    CHECK(tip == "GPU0 → GPU1: 50.0 GB/s, 4.00 µs; simulated");
}

TEST_CASE("a matrix wider than the terminal is split, and no line is longer") {
    const topo::node_class h = four(50, 4);
    render::style narrow;
    narrow.terminal = true;
    narrow.columns = 30;
    const std::string text = text_of(heat_of(h, h.layers[0], render::quantity::bandwidth), narrow);
    std::size_t headers = 0;
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
        end = text.find('\n', at);
        CHECK(end - at <= 30);
        headers += text.compare(at, 4, "from") == 0;
    }
    CHECK(headers == 2);
}

TEST_CASE("tables line up and keep untrusted cells on their line") {
    render::table t{{"NAME", "GB/s"}, {false, true}, {}};
    t.add({"a", "1.00"});
    t.add({"µµµµµ\n", "371"});
    CHECK(t.text({}) == "NAME       GB/s\na          1.00\nµµµµµ\\x0a   371\n");
}

TEST_CASE("progress: a line each tenth into a file, a bar with the time left on a terminal") {
    char* buffer = nullptr;
    std::size_t length = 0;
    std::FILE* stream = open_memstream(&buffer, &length);
    {
        render::progress_bar plain(stream, {});
        for (std::size_t i = 0; i <= 100; ++i) plain.update(i, 100, static_cast<double>(100 - i), "GPU0");
    }
    std::fflush(stream);
    const std::string lines(buffer, length);
    CHECK(std::count(lines.begin(), lines.end(), '\n') == 11);
    CHECK(lines.find("50 % (50 of 100, 50 s left)") != std::string::npos);
    CHECK(lines.find('\x1b') == std::string::npos);
    std::rewind(stream);
    {
        render::style s;
        s.terminal = true;
        s.columns = 60;
        render::progress_bar bar(stream, s);
        bar.update(1, 4, 61, "GPU0 → a very long name of a cell that does not fit here\x1b[2J");
    }
    std::fclose(stream);
    const std::string drawn(buffer, length);
    std::free(buffer);
    CHECK(drawn.find(" 25 %  1/4  1 min 1 s left") != std::string::npos);
    CHECK(drawn.find("\x1b[2J") == std::string::npos);
    CHECK(render::time_left(59.2) == "1 min 0 s");
    CHECK(render::time_left(7260) == "2 h 1 min");
}

TEST_CASE("files are told apart by their own words") {
    CHECK(content_of("# x\napiVersion: atoll/v1\nkind: Cluster\n") == content::cluster);
    CHECK(content_of("apiVersion: \"atoll/v1\"\nkind: 'Fabric' # x\n") == content::fabric);
    CHECK(content_of("{\"apiVersion\":\"atoll/v1\",\"kind\":\"Node\"}") == content::node);
    CHECK(content_of("{\n  \"apiVersion\" : \"atoll/v2\"}") == content::node);  // its reader names the version
    CHECK(content_of("apiVersion: v1\nkind: Pod\n") == content::imported);
    CHECK(content_of("{\"apiVersion\":\"v1\"}") == content::imported);
    CHECK(content_of("") == content::imported);
    CHECK(content_of("{\"apiVersion\"") == content::imported);
}
