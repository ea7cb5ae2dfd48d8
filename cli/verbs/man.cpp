// SPDX-License-Identifier: Apache-2.0
// Manual pages, made from the tree of verbs itself. The build writes them to share/man/man1.
#include <fmt/format.h>

#include <cctype>
#include <memory>

#include "cli/verb.hpp"

namespace cli {
namespace {

// Text as roff takes it: backslashes and hyphens escaped, no line starts with a control character.
std::string roff(std::string_view text) {
    std::string out;
    bool line_start = true;
    for (const char c : text) {
        if (line_start && (c == '.' || c == '\'')) out += "\\&";
        line_start = c == '\n';
        if (c == '\\')
            out += "\\e";
        else if (c == '-')
            out += "\\-";
        else
            out += c;
    }
    return out;
}

std::string head(std::string_view name, std::string_view summary) {
    return fmt::format(".TH {} 1 \"\" \"Atoll {}\" \"Atoll\"\n.SH NAME\n{} \\- {}\n", name, ATOLL_VERSION, roff(name),
                       roff(summary));
}

// Everything after the headline.
std::string details(const std::string& summary) {
    const std::size_t line = summary.find('\n');
    return line == std::string::npos ? summary : summary.substr(line + 1);
}

std::string lower_first(std::string text) {
    if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

std::string option_entry(const option_spec& option) {
    std::string names;
    if (option.positional())
        names = "\\fI" + roff(option.names) + "\\fR";
    else
        for (const std::string& name : option.all_names())
            names += (names.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", roff(name));
    if (option.takes_value && !option.positional()) names += fmt::format(" \\fI{}\\fR", roff(option.type));
    return fmt::format(".TP\n{}\n{}\n", names, roff(option.help));
}

std::string literal(std::string_view text) { return ".nf\n" + roff(text) + ".fi\n"; }

std::string exit_status() {
    return ".SH EXIT STATUS\n.TP\n0\ndone\n.TP\n1\na check found a difference, or the job does not fit "
           "now\n.TP\n2\nwrong use, bad input, or "
           "a file that cannot be read or written\n.TP\n3\nhardware or a peer failed, or is not there\n";
}

std::string verb_page(const verb& v) {
    std::string out = head("atoll-" + v.name(), lower_first(v.headline()));
    out += fmt::format(".SH SYNOPSIS\n\\fBatoll {}\\fR [\\fIoptions\\fR]", roff(v.name()));
    for (const option_spec& option : v.options()) {
        if (!option.positional()) continue;
        const std::string word = fmt::format("\\fI{}\\fR{}", roff(option.names), option.many ? "\\ ..." : "");
        out += option.required ? " " + word : " [" + word + "]";
    }
    out += "\n.SH DESCRIPTION\n" + roff(details(v.summary())) + "\n.SH OPTIONS\n";
    for (const option_spec& option : v.options()) out += option_entry(option);
    out += ".SH EXAMPLES\n" + literal(v.examples()) + exit_status();
    return out + ".SH SEE ALSO\n.BR atoll (1)\n";
}

std::string root_page(const command_tree& tree) {
    std::string out = head("atoll", "places multi-GPU jobs by measured cost");
    out += ".SH SYNOPSIS\n\\fBatoll\\fR \\fIverb\\fR [\\fIoptions\\fR]\n.SH DESCRIPTION\n" +
           roff(details(tree.summary())) + "\n";
    out += ".SH VERBS\n";
    std::string also;
    for (const auto& v : tree.verbs()) {
        if (v->hidden()) continue;
        out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(v->name()), roff(v->headline()));
        also += fmt::format("{}.BR atoll\\-{} (1)", also.empty() ? "" : ",\n", roff(v->name()));
    }
    out += exit_status();
    out +=
        ".SH ENVIRONMENT\n.TP\nNO_COLOR\nWhen set and not empty, nothing is coloured unless \\fB\\-\\-color always\\fR "
        "is given.\n";
    return out + ".SH SEE ALSO\n" + also + "\n";
}

int run(const command_tree& tree, const std::string& name) {
    const console out;
    if (name.empty()) return out.print(root_page(tree));
    for (const auto& v : tree.verbs())
        if (v->name() == name) return out.print(verb_page(*v));
    return out.fail("man", "'" + name + "' is no verb", "see atoll --help");
}

}  // namespace

void add_man(command_tree& tree) {
    auto name = std::make_shared<std::string>();
    tree.add("man", "Print the manual page of atoll, or of a verb, as roff", "  atoll man place | man -l -\n",
             [&tree, name] { return run(tree, *name); })
        .text({.names = "verb", .help = "A verb; nothing for the page of atoll itself", .type = "VERB"}, *name)
        .hide();  // it serves the build
}

}  // namespace cli
