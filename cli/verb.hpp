// SPDX-License-Identifier: Apache-2.0
// The tree of verbs: what is parsed, what --help prints, what completion and the man pages are made of.
// Parsing is CLI11's; only verb.cpp knows it.
//
// Example (verbs/export.cpp):
//   void add_export(command_tree& tree) {
//       auto o = std::make_shared<options>();
//       tree.add("export", "…", "…examples…", [o] { return run(*o); })
//           .text({.names = "cluster", .help = "Cluster file", .type = "CLUSTER", .files = true, .required = true},
//           o->file) .common(o->common);
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/console.hpp"

namespace cli {

// The two options every verb that prints has.
struct common_options {
    bool as_json = false;
    std::string colour = "auto";
    [[nodiscard]] console make_console() const;
};

struct option_spec {
    std::string names = {};  // "-o,--output"; without dashes: positional
    std::string help = {};
    std::string type = {};                 // "FILE"; values joined by | when empty and there are values
    bool files = false;                    // completion offers files
    std::vector<std::string> values = {};  // completion offers these
    bool only_values = false;              // anything else is wrong use
    bool required = false;
    bool many = false;        // may be repeated; set by texts()
    bool takes_value = true;  // false: a flag; set by flag()

    [[nodiscard]] bool positional() const { return !names.starts_with('-'); }
    [[nodiscard]] std::vector<std::string> all_names() const;  // "-o", "--output"
};

class verb {
public:
    verb(std::string name, std::string summary, std::string examples, std::function<int()> run, void* app);

    // Where parsing puts each value. `to` must live as long as the tree (verbs keep theirs in a shared_ptr
    // that `run` holds).
    verb& flag(option_spec spec, bool& to);
    verb& text(option_spec spec, std::string& to);
    verb& texts(option_spec spec, std::vector<std::string>& to);
    verb& maybe(option_spec spec, std::optional<std::string>& to);
    verb& number(option_spec spec, std::uint32_t& to, std::uint32_t least, std::uint32_t most);
    verb& seed(option_spec spec, std::uint64_t& to);
    verb& real(option_spec spec, double& to, double least, double most);
    verb& common(common_options& to);  // --json and --color
    verb& hide();                      // not in --help, completion and man pages

    [[nodiscard]] const std::string& name() const noexcept { return name_; }
    [[nodiscard]] std::string headline() const { return summary_.substr(0, summary_.find('\n')); }
    [[nodiscard]] const std::string& summary() const noexcept { return summary_; }
    [[nodiscard]] const std::string& examples() const noexcept { return examples_; }
    [[nodiscard]] const std::vector<option_spec>& options() const noexcept { return options_; }
    [[nodiscard]] bool hidden() const noexcept { return hidden_; }
    [[nodiscard]] int run() const { return run_(); }

private:
    const option_spec& keep(option_spec spec, bool many, bool takes_value);

    std::string name_;
    std::string summary_;
    std::string examples_;
    std::function<int()> run_;
    void* app_;  // the parser's node for this verb, owned by the tree
    std::vector<option_spec> options_;
    bool hidden_ = false;
};

class command_tree {
public:
    command_tree();  // with every verb
    ~command_tree();
    command_tree(const command_tree&) = delete;
    command_tree& operator=(const command_tree&) = delete;

    // A verb. The first line of `summary` says all in a few words, the rest more; `examples` ends --help and the man
    // page. `run` gives the exit code.
    verb& add(const std::string& name, const std::string& summary, const std::string& examples,
              std::function<int()> run);

    [[nodiscard]] const std::string& summary() const noexcept;
    [[nodiscard]] const std::vector<std::unique_ptr<verb>>& verbs() const noexcept { return verbs_; }
    // Parses and runs. Help and version print and give done; wrong words give bad_use.
    [[nodiscard]] int run(int argc, const char* const* argv);

private:
    // Names the word that is no verb, and the verb it is most like.
    [[nodiscard]] exit_code no_verb(const std::vector<std::string>& words) const;

    struct parser;
    std::unique_ptr<parser> parser_;
    std::vector<std::unique_ptr<verb>> verbs_;
};

// One function a verb, each in verbs/ in the file of its name.
void add_discover(command_tree& tree);
void add_import(command_tree& tree);
void add_calibrate(command_tree& tree);
void add_check(command_tree& tree);
void add_merge(command_tree& tree);
void add_validate(command_tree& tree);
void add_show(command_tree& tree);
void add_place(command_tree& tree);
void add_explain(command_tree& tree);
void add_ranks(command_tree& tree);
void add_simulate(command_tree& tree);
void add_status(command_tree& tree);
void add_export(command_tree& tree);
void add_completion(command_tree& tree);
void add_man(command_tree& tree);

// The whole command. No exception leaves it.
[[nodiscard]] int run(int argc, const char* const* argv) noexcept;

}  // namespace cli
