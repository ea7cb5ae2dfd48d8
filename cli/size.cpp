// SPDX-License-Identifier: Apache-2.0
#include "cli/size.hpp"

#include <string>

#include "topo/size.hpp"

namespace cli {

topo::result<double> parse_size(std::string_view text, std::string_view option) {
    const double bytes = topo::size_named(text);
    if (bytes > 0) return bytes;
    return topo::error{topo::errc::bad_input, std::string(option), "'" + std::string(text) + "' is not a size",
                       "write bytes or 64k, 64M, 1G (powers of 1000), 64Ki, 64Mi, 1Gi (powers of 1024)"};
}

}  // namespace cli
