// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Formats whose type is known only when a program runs, for tests and fuzzers. Each format's code
// is compiled once for all rules that they check.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace softib::wire {

/// One format of formats.inc. Its functions take bytes and parse them first.
struct AnyFormat {
    using Input = std::span<const std::uint8_t>;

    std::string_view name;
    std::size_t bytes;
    /// Ones in all fields, zeros in reserved bits.
    Input mask;
    std::span<const std::string_view> field_names;

    /// Returns whether parse() takes the bytes.
    bool (*parses)(Input input);
    /// Parses the input and emits its value. Both are long enough.
    void (*copy)(Input from, std::span<std::uint8_t> to);
    /// Returns whether both inputs parse to the same value.
    bool (*same)(Input a, Input b);
    /// Returns the line that to_string() makes of the value. The input is long enough.
    std::string (*text)(Input input);
    /// Returns whether the components in the mask are equal in both. Both are long enough.
    bool (*matches)(Input pattern, Input record, std::uint64_t mask);
};

/// Returns all formats, in the order of formats.inc.
std::span<const AnyFormat> all_formats();

}  // namespace softib::wire
