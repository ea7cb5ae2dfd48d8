// SPDX-License-Identifier: Apache-2.0
#include "cli/render/page_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "cli/console.hpp"
#include "cli/render/facts.hpp"
#include "cli/render/page_style.hpp"
#include "cli/render/text.hpp"

namespace cli::render {
namespace {

constexpr std::size_t short_cell = 24;  // columns; such a cell of a table stays on one line

int step_of(double goodness) { return static_cast<int>(std::clamp(goodness, 0.0, 1.0) * (heat_steps - 1) + 0.5); }

std::string step_rules() {
    std::string out;
    for (int i = 0; i < heat_steps; ++i) out += fmt::format(".h{0}{{background:var(--h{0});color:var(--t{0})}}", i);
    return out;
}

std::string scale(const heat_table& t) {
    if (t.best.empty()) return {};
    std::string out =
        fmt::format("<div class=\"scale\" aria-hidden=\"true\">{} slow <span class=\"bar\">", html(t.worst));
    for (int i = 0; i < heat_steps; ++i) out += fmt::format("<i class=\"h{}\"></i>", i);
    return out + fmt::format("</span> fast {}</div>", html(t.best));
}

}  // namespace

std::string page(std::string_view title, std::string_view subtitle, std::string_view body) {
    return fmt::format(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"referrer\" content=\"no-referrer\">\n<title>{0} · Atoll</title>\n<style>{1}{2}</style>\n</head>\n"
        "<body>\n<header><h1>{0}</h1><p>{3}</p></header>\n<main>\n{4}</main>\n"
        "<footer>Atoll {5}. GB/s are 10⁹ bytes a second, µs are the latency of an empty "
        "message.</footer>\n</body>\n</html>\n",
        html(title), page_style, step_rules(), html(subtitle), body, ATOLL_VERSION);
}

std::string remark_boxes(const topo::node_class& hardware) {
    std::string out;
    for (const remark& r : remarks_on(hardware))
        out += fmt::format("<p class=\"box{}\" role=\"note\"><b>{}</b> {}</p>\n", r.how == weight::loud ? " loud" : "",
                           html(r.label), html(r.text));
    return out;
}

std::string findings_list(const topo::findings& notes) {
    if (notes.empty()) return "<p class=\"sub\">Nothing was found that needs attention.</p>\n";
    std::string out = "<ul class=\"findings\">\n";
    for (const topo::severity level : {topo::severity::error, topo::severity::warning, topo::severity::info})
        for (const topo::finding& f : notes) {
            if (f.level != level) continue;
            const std::string_view word = level == topo::severity::info ? "note" : name_of(level);
            out += fmt::format("<li class=\"{}\"><span class=\"sev\">{}</span> ", name_of(level), word);
            if (!f.where.empty()) out += fmt::format("<code>{}</code> ", html(f.where));
            out += html(f.what);
            if (!f.remedy.empty()) out += fmt::format(" <em>{}</em>", html(f.remedy));
            out += "</li>\n";
        }
    return out + "</ul>\n";
}

std::string tiles(const std::vector<tile>& all) {
    std::string out = "<dl class=\"tiles\">\n";
    for (const tile& t : all) {
        out += fmt::format("<div><dt>{}</dt><dd>{}</dd>", html(t.label), html(t.value));
        if (!t.detail.empty()) out += fmt::format("<dd class=\"more\">{}</dd>", html(t.detail));
        out += "</div>\n";
    }
    return out + "</dl>\n";
}

std::string data_table(std::string_view caption, const std::vector<std::string>& headers,
                       const std::vector<std::vector<std::string>>& rows) {
    std::string out = "<div class=\"scroll\"><table class=\"data\">\n";
    if (!caption.empty()) out += fmt::format("<caption>{}</caption>\n", html(caption));
    out += "<thead><tr>";
    for (const std::string& h : headers) out += fmt::format("<th scope=\"col\">{}</th>", html(h));
    out += "</tr></thead>\n<tbody>\n";
    for (const auto& row : rows) {
        out += "<tr>";
        for (const std::string& cell : row)
            out += fmt::format("<td{}>{}</td>", columns(cell) <= short_cell ? " class=\"short\"" : "", html(cell));
        out += "</tr>\n";
    }
    return out + "</tbody></table></div>\n";
}

std::string heat_map(const topo::node_class& hardware, const topo::cost_layer* layer, const heat_table& t) {
    const std::size_t comma = t.title.rfind(", ");
    const std::string unit = layer == nullptr || comma == std::string::npos ? "" : t.title.substr(comma + 2);
    std::string out = fmt::format(
        "<div class=\"scroll\"><table class=\"heat\"><caption>{} <small>{}</small></caption>\n<thead><tr><td></td>",
        html(layer == nullptr ? t.title : t.title.substr(0, comma)),
        unit == "us"   ? "µs, row to column"
        : unit.empty() ? ""
                       : html(unit) + ", row to column");
    for (const std::string& name : t.columns) out += fmt::format("<th scope=\"col\">{}</th>", html(name));
    out += "</tr></thead>\n<tbody>\n";
    for (std::size_t r = 0; r < t.rows.size(); ++r) {
        out += fmt::format("<tr><th scope=\"row\">{}</th>", html(t.rows[r]));
        for (std::size_t c = 0; c < t.columns.size(); ++c) {
            const heat_cell& cell = t.cells(r, c);
            if (!cell.present) {
                out += fmt::format("<td class=\"none\">{}</td>", cell.text == "-" ? "–" : html(cell.text));
                continue;
            }
            const std::string tip = layer != nullptr ? tip_of(hardware, *layer, r, c)
                                                     : fmt::format("{} – {}: {}", t.rows[r], t.columns[c], cell.text);
            out += fmt::format("<td class=\"h{}{}\" data-tip=\"{}\">{}{}</td>", step_of(cell.goodness),
                               cell.odd ? " odd" : "", html(tip), html(cell.text), cell.odd ? " !" : "");
        }
        out += "</tr>\n";
    }
    out += "</tbody></table>" + scale(t);
    if (t.odd > 0)
        out += fmt::format("<p class=\"note\">! {} clearly worse than others over the same kind of link</p>",
                           counted(t.odd, "pair is", "pairs are"));
    return out + "</div>\n";
}

}  // namespace cli::render
