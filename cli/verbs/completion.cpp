// SPDX-License-Identifier: Apache-2.0
// Shell completion, made from the tree of verbs itself, so that it never lags behind.
#include <fmt/format.h>

#include <memory>

#include "cli/verb.hpp"

namespace cli {
namespace {

// What a verb's first positional argument takes.
option_spec positional_of(const verb& v) {
    for (const option_spec& option : v.options())
        if (option.positional()) return option;
    return {};
}

std::string joined(const std::vector<std::string>& words, const char* between = " ") {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : between) + word;
    return out;
}

// Inside single quotes of any of the three shells.
std::string quoted(std::string_view text) {
    std::string out;
    for (const char c : text) out += c == '\'' ? std::string("’") : c == '\n' ? std::string(" ") : std::string(1, c);
    return out;
}

std::vector<const verb*> visible_verbs(const command_tree& tree) {
    std::vector<const verb*> out;
    for (const auto& v : tree.verbs())
        if (!v->hidden()) out.push_back(v.get());
    return out;
}

std::vector<std::string> names_of(const std::vector<const verb*>& verbs) {
    std::vector<std::string> names;
    for (const verb* v : verbs) names.push_back(v->name());
    return names;
}

std::string bash_values(const option_spec& hint) {
    std::string out;
    if (hint.files) out += "compopt -o filenames 2>/dev/null; ";
    out += "COMPREPLY=(";
    if (!hint.values.empty()) out += fmt::format("$(compgen -W '{}' -- \"$cur\")", joined(hint.values));
    if (hint.files) out += std::string(hint.values.empty() ? "" : " ") + "$(compgen -f -- \"$cur\")";
    return out + ")";
}

std::string bash(const command_tree& tree) {
    std::string out =
        "# bash completion of atoll; made by: atoll completion bash\n"
        "_atoll() {\n"
        "    local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\" verb=\"${COMP_WORDS[1]}\"\n"
        "    COMPREPLY=()\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
    out += fmt::format("        COMPREPLY=($(compgen -W '{} --help --version' -- \"$cur\"))\n        return\n    fi\n",
                       joined(names_of(visible_verbs(tree))));
    out += "    case \"$verb\" in\n";
    for (const verb* v : visible_verbs(tree)) {
        std::string words;
        std::string cases;
        for (const option_spec& w : v->options()) {
            if (w.positional()) continue;
            words += (words.empty() ? "" : " ") + joined(w.all_names());
            if (w.takes_value)
                cases += fmt::format("        {}) {}; return ;;\n", joined(w.all_names(), "|"), bash_values(w));
        }
        const option_spec rest = positional_of(*v);
        out += fmt::format("    {})\n", v->name());
        if (!cases.empty()) out += "        case \"$prev\" in\n" + cases + "        esac\n";
        out += fmt::format(
            "        case \"$cur\" in\n        -*) COMPREPLY=($(compgen -W '{}' -- \"$cur\")) ;;\n        *) {} ;;\n   "
            "     esac ;;\n",
            words, bash_values(rest));
    }
    return out + "    esac\n}\ncomplete -F _atoll atoll\n";
}

std::string zsh_action(const option_spec& hint) {
    if (!hint.values.empty() && hint.files)
        return fmt::format(":value:{{_alternative \"values:value:({})\" \"files:file:_files\"}}", joined(hint.values));
    if (!hint.values.empty()) return fmt::format(":value:({})", joined(hint.values));
    return hint.files ? ":file:_files" : ":value: ";
}

// In the [description] of _arguments, brackets and colons mean something.
std::string zsh_text(std::string_view text) {
    std::string out;
    for (const char c : quoted(text)) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string zsh(const command_tree& tree) {
    std::string out =
        "#compdef atoll\n# zsh completion of atoll; made by: atoll completion zsh\n"
        "_atoll() {\n    local -a verbs\n    verbs=(\n";
    for (const verb* v : visible_verbs(tree))
        out += fmt::format("        '{}:{}'\n", v->name(), zsh_text(v->headline()));
    out +=
        "    )\n    if (( CURRENT == 2 )); then\n        _describe 'verb' verbs\n        _arguments '--help[help]' "
        "'--version[version]'\n        return\n    fi\n"
        "    local verb=\"$words[2]\"\n    shift words\n    (( CURRENT-- ))\n    case \"$verb\" in\n";
    for (const verb* v : visible_verbs(tree)) {
        out += fmt::format("    {})\n        _arguments", v->name());
        for (const option_spec& w : v->options())
            for (const std::string& name : w.all_names())
                out += fmt::format(" \\\n            '*{}[{}]{}'", name, zsh_text(w.help),
                                   w.takes_value ? zsh_action(w) : "");
        const option_spec rest = positional_of(*v);
        if (rest.files || !rest.values.empty()) out += fmt::format(" \\\n            '*{}'", zsh_action(rest));
        out += " ;;\n";
    }
    return out +
           "    esac\n}\nif [ \"$funcstack[1]\" = \"_atoll\" ]; then _atoll \"$@\"; else compdef _atoll atoll; fi\n";
}

std::string fish(const command_tree& tree) {
    std::string out = "# fish completion of atoll; made by: atoll completion fish\ncomplete -c atoll -f\n";
    for (const verb* v : visible_verbs(tree)) {
        const std::string name = v->name();
        out += fmt::format("complete -c atoll -n __fish_use_subcommand -a {} -d '{}'\n", name, quoted(v->headline()));
        const std::string when = fmt::format("complete -c atoll -n '__fish_seen_subcommand_from {}'", name);
        const option_spec rest = positional_of(*v);
        if (rest.files) out += when + " -F\n";
        if (!rest.values.empty()) out += fmt::format("{} -a '{}'\n", when, joined(rest.values));
        for (const option_spec& w : v->options()) {
            if (w.positional()) continue;
            out += when;
            for (const std::string& option : w.all_names())
                out += option.starts_with("--") ? " -l " + option.substr(2) : " -s " + option.substr(1);
            if (w.takes_value) out += w.files ? " -r -F" : " -x";
            if (!w.values.empty()) out += fmt::format(" -a '{}'", joined(w.values));
            out += fmt::format(" -d '{}'\n", quoted(w.help));
        }
    }
    return out +
           "complete -c atoll -n __fish_use_subcommand -l help -d help\ncomplete -c atoll -n __fish_use_subcommand -l "
           "version -d version\n";
}

}  // namespace

void add_completion(command_tree& tree) {
    auto shell = std::make_shared<std::string>();
    tree.add("completion", "Print a completion script for your shell",
             "  atoll completion bash > /etc/bash_completion.d/atoll\n"
             "  atoll completion zsh > \"${fpath[1]}/_atoll\"\n"
             "  atoll completion fish > ~/.config/fish/completions/atoll.fish\n",
             [&tree, shell] {
                 return console().print(*shell == "bash" ? bash(tree) : *shell == "zsh" ? zsh(tree) : fish(tree));
             })
        .text({.names = "shell",
               .help = "Which shell",
               .values = {"bash", "zsh", "fish"},
               .only_values = true,
               .required = true},
              *shell);
}

}  // namespace cli
