// SPDX-License-Identifier: Apache-2.0
// Something a reader, validator or measurement wants a person to know, without having failed.
#pragma once

#include <string>
#include <vector>

namespace topo {

enum class severity { info, warning, error };

struct finding {
    severity level = severity::info;
    std::string where;   // "file:line" or a device or node name
    std::string what;    // one sentence
    std::string remedy;  // what to do; may be empty for info

    // "where: what; remedy", as topo::error prints it.
    [[nodiscard]] std::string message() const {
        std::string text = where.empty() ? what : where + ": " + what;
        if (!remedy.empty()) text += "; " + remedy;
        return text;
    }
};

using findings = std::vector<finding>;

}  // namespace topo
