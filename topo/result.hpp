// SPDX-License-Identifier: Apache-2.0
// How every core of Atoll reports failure: a value or an error, never an exception.
//
// Example:
//   topo::result<topo::cluster> loaded = topo::load_cluster(path);
//   if (!loaded) return print(loaded.failure().message());
//   use(*loaded);
//
// An error names the thing (what), the place (where) and the remedy. Its text is only joined when
// message() is called. Exceptions thrown by libraries are caught where the library is used and
// turned into an error; none crosses a public function of topo/ or placement/.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace topo {

enum class errc {
    bad_input,            // the text or value is wrong: fix the input
    unsupported_version,  // a file written by a newer Atoll
    missing,              // a file, device or node that was named does not exist
    refused,              // a rule forbids it (simulated costs in a plugin, strict mode)
    limit,                // larger than what a reader accepts
    no_fit,               // a request that the free devices cannot satisfy
    io,                   // the operating system said no
    hardware,             // a device or peer failed
};

struct error {
    errc code = errc::bad_input;
    std::string where;   // "file:line", "file:line:column", "--option" or "" where no place exists
    std::string what;    // what is wrong, with the offending text
    std::string remedy;  // what the reader of the message should do

    // "where: what; remedy". Empty parts are left out. O(length).
    [[nodiscard]] std::string message() const {
        std::string text = where.empty() ? what : where + ": " + what;
        if (!remedy.empty()) text += "; " + remedy;
        return text;
    }
};

// A value of T, or an error. T must not be topo::error.
template <class T>
class [[nodiscard]] result {
public:
    result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
    result(error why) : state_(std::in_place_index<1>, std::move(why)) {}

    [[nodiscard]] explicit operator bool() const noexcept { return state_.index() == 0; }
    [[nodiscard]] bool has_value() const noexcept { return state_.index() == 0; }

    // Only after the result was seen to hold a value (undefined otherwise).
    [[nodiscard]] T& operator*() & noexcept { return *std::get_if<0>(&state_); }
    [[nodiscard]] const T& operator*() const& noexcept { return *std::get_if<0>(&state_); }
    [[nodiscard]] T&& operator*() && noexcept { return std::move(*std::get_if<0>(&state_)); }
    [[nodiscard]] T* operator->() noexcept { return std::get_if<0>(&state_); }
    [[nodiscard]] const T* operator->() const noexcept { return std::get_if<0>(&state_); }

    // Only after the result was seen to hold no value.
    [[nodiscard]] const error& failure() const noexcept { return *std::get_if<1>(&state_); }

private:
    std::variant<T, error> state_;
};

// For calls that have nothing to return but may fail: result<done>.
struct done {};

}  // namespace topo
