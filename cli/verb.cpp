// SPDX-License-Identifier: Apache-2.0
#include "cli/verb.hpp"

#include <fmt/format.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <exception>
#include <limits>

#include "cli/render/text.hpp"
#include "topo/quote.hpp"

#ifndef ATOLL_VERSION
#error "the build sets ATOLL_VERSION"
#endif

namespace cli {
namespace {

constexpr const char* root_examples =
    "  atoll calibrate --simulate dgx-h100 -o h100.json    no GPU here: a simulated node\n"
    "  atoll merge --hosts 'g[1-64]=h100.json' --fabric topology.conf -o cluster.yaml\n"
    "  atoll show cluster.yaml --html report.html          the report as a page\n"
    "  atoll place cluster.yaml --nodes 4 --gpus-per-node 8\n"
    "  atoll VERB --help                                   everything about a verb\n";

std::string footer(std::string_view examples) { return fmt::format("Examples:\n{}\n{}", examples, exit_code_help); }

CLI::App& app_of(void* app) { return *static_cast<CLI::App*>(app); }

std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : "|") + word;
    return out;
}

// Lists verbs by the first line of what they say of themselves.
class headline_formatter final : public CLI::Formatter {
public:
    std::string make_subcommand(const CLI::App* app) const override {
        const std::string text = app->get_description();
        return fmt::format("  {:<12}{}\n", app->get_name(), text.substr(0, text.find('\n')));
    }
};

void dress(CLI::Option* option, const option_spec& spec) {
    option->type_name(spec.type);
    option->required(spec.required);
    if (!spec.only_values) return;
    option->check(CLI::Validator(
        [values = spec.values](std::string& given) {
            if (std::find(values.begin(), values.end(), given) != values.end()) return std::string();
            return fmt::format("'{}' is none of {}", render::printable(given), joined(values));
        },
        ""));
}

// Values are checked and put right as text, before CLI11 reads them: it would take 010 for eight.
CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
    return {[least, most](std::string& given) {
                std::uint64_t n = 0;
                const char* end = given.data() + given.size();
                const auto [stop, failed] = std::from_chars(given.data(), end, n);
                if (given.empty() || failed != std::errc{} || stop != end || n < least || n > most)
                    return fmt::format("'{}' is not a whole number from {} to {}", topo::shown(given), least, most);
                given = std::to_string(n);
                return std::string();
            },
            ""};
}

CLI::Validator real_number(double least, double most) {
    return {[least, most](std::string& given) {
                double n = 0;
                const char* end = given.data() + given.size();
                const auto [stop, failed] = std::from_chars(given.data(), end, n);
                if (!given.empty() && failed == std::errc{} && stop == end && n >= least && n <= most)
                    return std::string();
                return fmt::format("'{}' is not a number from {} to {}", topo::shown(given), least, most);
            },
            ""};
}

// How many letters must be put in, left out, changed or swapped with their neighbour. O(a × b).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i)
        for (std::size_t k = 0; k <= b.size(); ++k) {
            if (i == 0 || k == 0) {
                d[i][k] = i + k;
                continue;
            }
            d[i][k] = std::min({d[i - 1][k] + 1, d[i][k - 1] + 1, d[i - 1][k - 1] + (a[i - 1] != b[k - 1] ? 1 : 0)});
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                d[i][k] = std::min(d[i][k], d[i - 2][k - 2] + 1);
        }
    return d[a.size()][b.size()];
}

}  // namespace

console common_options::make_console() const {
    return console(colour == "always"  ? render::colour_mode::always
                   : colour == "never" ? render::colour_mode::never
                                       : render::colour_mode::automatic);
}

std::vector<std::string> option_spec::all_names() const {
    std::vector<std::string> out;
    for (std::size_t at = 0; at < names.size();) {
        const std::size_t end = std::min(names.find(',', at), names.size());
        out.push_back(names.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

verb::verb(std::string name, std::string summary, std::string examples, std::function<int()> run, void* app)
    : name_(std::move(name)),
      summary_(std::move(summary)),
      examples_(std::move(examples)),
      run_(std::move(run)),
      app_(app) {}

const option_spec& verb::keep(option_spec spec, bool many, bool takes_value) {
    spec.many = many;
    spec.takes_value = takes_value;
    if (spec.type.empty() && takes_value) spec.type = joined(spec.values);
    return options_.emplace_back(std::move(spec));
}

verb& verb::flag(option_spec spec, bool& to) {
    const option_spec& kept = keep(std::move(spec), false, false);
    app_of(app_).add_flag(kept.names, to, kept.help);
    return *this;
}

verb& verb::text(option_spec spec, std::string& to) {
    const option_spec& kept = keep(std::move(spec), false, true);
    dress(app_of(app_).add_option(kept.names, to, kept.help), kept);
    return *this;
}

verb& verb::texts(option_spec spec, std::vector<std::string>& to) {
    const option_spec& kept = keep(std::move(spec), true, true);
    CLI::Option* option = app_of(app_).add_option(kept.names, to, kept.help);
    dress(option, kept);
    // One value each time, so that a positional argument after it is not swallowed.
    if (!kept.positional()) option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    return *this;
}

verb& verb::maybe(option_spec spec, std::optional<std::string>& to) {
    const option_spec& kept = keep(std::move(spec), false, true);
    dress(app_of(app_).add_option_function<std::string>(
              kept.names, [&to](const std::string& given) { to = given; }, kept.help),
          kept);
    return *this;
}

verb& verb::number(option_spec spec, std::uint32_t& to, std::uint32_t least, std::uint32_t most) {
    const option_spec& kept = keep(std::move(spec), false, true);
    CLI::Option* option = app_of(app_).add_option(kept.names, to, kept.help);
    dress(option, kept);
    option->transform(whole_number(least, most));
    return *this;
}

verb& verb::seed(option_spec spec, std::uint64_t& to) {
    const option_spec& kept = keep(std::move(spec), false, true);
    CLI::Option* option = app_of(app_).add_option(kept.names, to, kept.help);
    dress(option, kept);
    option->transform(whole_number(0, std::numeric_limits<std::uint64_t>::max()));
    return *this;
}

verb& verb::real(option_spec spec, double& to, double least, double most) {
    const option_spec& kept = keep(std::move(spec), false, true);
    CLI::Option* option = app_of(app_).add_option(kept.names, to, kept.help);
    dress(option, kept);
    option->check(real_number(least, most));
    return *this;
}

verb& verb::common(common_options& to) {
    flag({.names = "--json", .help = "One JSON object on standard output, nothing else there"}, to.as_json);
    return text({.names = "--color",
                 .help = "Colours in the terminal (default auto; NO_COLOR is respected)",
                 .values = {"auto", "always", "never"},
                 .only_values = true},
                to.colour);
}

verb& verb::hide() {
    app_of(app_).group("");
    hidden_ = true;
    return *this;
}

struct command_tree::parser {
    CLI::App root{
        "Places multi-GPU jobs by measured cost\n"
        "Calibrate or import nodes, merge them with the fabric into a cluster file, look at it, and ask\n"
        "where a job would go.",
        "atoll"};
    std::string summary = root.get_description();
};

command_tree::command_tree() : parser_(std::make_unique<parser>()) {
    CLI::App& root = parser_->root;
    root.set_help_flag("-h,--help", "Print this help and exit");
    root.set_version_flag("--version", std::string("atoll ") + ATOLL_VERSION, "Print the version and exit");
    root.formatter(std::make_shared<headline_formatter>());
    root.get_formatter()->column_width(30);
    root.get_formatter()->label("SUBCOMMAND", "VERB");
    root.require_subcommand(1);
    root.footer(footer(root_examples));
    for (const auto add_verb :
         {add_discover, add_import, add_calibrate, add_check, add_merge, add_validate, add_show, add_place, add_explain,
          add_ranks, add_simulate, add_status, add_export, add_completion, add_man})
        add_verb(*this);
}

command_tree::~command_tree() = default;

const std::string& command_tree::summary() const noexcept { return parser_->summary; }

verb& command_tree::add(const std::string& name, const std::string& summary, const std::string& examples,
                        std::function<int()> run) {
    CLI::App* app = parser_->root.add_subcommand(name, summary);
    app->group("Verbs");
    app->footer(footer(examples));
    verbs_.push_back(std::make_unique<verb>(name, summary, examples, std::move(run), app));
    return *verbs_.back();
}

exit_code command_tree::no_verb(const std::vector<std::string>& words) const {
    const auto word =
        std::find_if(words.begin(), words.end(), [](const std::string& w) { return !w.starts_with('-'); });
    if (word == words.end())
        return console().fail("atoll",
                              words.empty() ? "no verb was given" : "no verb was given beside " + words.front(),
                              "see atoll --help");
    const std::string given = word->substr(0, topo::longest_quote);  // no verb is as long
    const verb* closest = nullptr;
    std::size_t least = 3;  // more than two letters wrong is another word
    for (const auto& v : verbs_) {
        const std::size_t wrong = given.size() > 1 && v->name().starts_with(given) ? 0 : distance(given, v->name());
        if (v->hidden() || wrong >= least || wrong >= given.size()) continue;
        least = wrong;
        closest = v.get();
    }
    return console().fail("atoll", "'" + topo::shown(*word) + "' is no verb",
                          closest != nullptr ? "write atoll " + closest->name() + ", or see atoll --help for all verbs"
                                             : "see atoll --help for the verbs");
}

int command_tree::run(int argc, const char* const* argv) {
    CLI::App& root = parser_->root;
    std::string called = "atoll";
    try {
        root.parse(argc, argv);
    } catch (const CLI::CallForVersion& asked) {
        return console().print(std::string(asked.what()) + "\n");
    } catch (const CLI::Success&) {
        return console().print(root.help());
    } catch (const CLI::ParseError& wrong) {
        const auto chosen = root.get_subcommands();
        if (chosen.empty()) return no_verb({argv + 1, argv + std::max(argc, 1)});
        called += " " + chosen.front()->get_name();
        return console().fail(called, wrong.what(), "see " + called + " --help");
    }
    const std::string chosen = root.get_subcommands().front()->get_name();
    for (const auto& v : verbs_)
        if (v->name() == chosen) return v->run();
    return bad_use;
}

int run(int argc, const char* const* argv) noexcept {
    try {
        return command_tree().run(argc, argv);
    } catch (const std::bad_alloc&) {
        std::fputs("error: out of memory; use a smaller input\n", stderr);
    } catch (const std::exception& e) {
        std::fprintf(stderr, "error: unexpected failure (%s); please report it with the command line\n", e.what());
    }
    return failed;
}

}  // namespace cli
