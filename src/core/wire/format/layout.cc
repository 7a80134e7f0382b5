// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/format/layout.h"

#include <fmt/format.h>

#include <iterator>

namespace softib::wire::detail {

void Printer::name(std::string_view name) {
    line_ += name;
    line_ += ' ';
}

void Printer::number(std::uint64_t value, bool in_hex) {
    if (in_hex) {
        fmt::format_to(std::back_inserter(line_), "{:#x}", value);
    } else {
        fmt::format_to(std::back_inserter(line_), "{}", value);
    }
}

void Printer::digits(std::uint64_t value, int count) {
    fmt::format_to(std::back_inserter(line_), "0x{:0{}x}", value, count);
}

void Printer::gid(const Gid& value) {
    line_ += softib::to_string(value);
}

/// Prints a text that may come from another machine: all but printable ASCII becomes dots.
void Printer::text(std::string_view value) {
    line_ += '"';
    for (const char c : value) {
        line_ += c >= ' ' && c <= '~' ? c : '.';
    }
    line_ += '"';
}

void Printer::bytes(std::span<const std::uint8_t> value) {
    for (const std::uint8_t byte : value) {
        fmt::format_to(std::back_inserter(line_), "{:02x}", byte);
    }
}

}  // namespace softib::wire::detail
