// SPDX-License-Identifier: Apache-2.0
// Runs the built `atoll` as a user would, and gives back its exit code and both streams.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace cli_test {

struct ran {
    int code = -1;  // 128 + signal when a signal ended it
    std::string out;
    std::string err;
    [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

// A folder of its own for one test, removed with everything in it at the end.
class scratch {
public:
    scratch();
    ~scratch();
    scratch(const scratch&) = delete;
    scratch& operator=(const scratch&) = delete;
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
    // Writes text and gives the path.
    std::string write(const std::string& name, const std::string& text) const;
    [[nodiscard]] std::vector<std::string> names() const;  // of the files in it, sorted

private:
    std::string path_;
};

// No shell is between: words arrive as they are. `input` is standard input. `environment` is added to a
// bare one (PATH only, so that NO_COLOR or the locale of the caller changes nothing). At most 120 s.
[[nodiscard]] ran run_atoll(const std::vector<std::string>& words, const std::string& input = {},
                            const std::vector<std::string>& environment = {});
// Any program of the system the same way.
[[nodiscard]] ran program(const std::vector<std::string>& words, const std::string& input = {},
                          const std::vector<std::string>& environment = {});
// Starts atoll, sends `signal` after `milliseconds`, waits for its end.
[[nodiscard]] ran atoll_interrupted(const std::vector<std::string>& words, int milliseconds, int signal);

[[nodiscard]] std::string read_all(const std::string& path);
[[nodiscard]] bool exists(const std::string& path);
[[nodiscard]] bool installed(const std::string& program_name);
[[nodiscard]] bool contains(const std::string& text, const std::string& part);

// An example of configs/.
[[nodiscard]] std::string example(const std::string& name);
// A node file of the simulated dgx-h100, made once a test program.
[[nodiscard]] const std::string& simulated_node();

}  // namespace cli_test
