// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the fuzzers call: each entry takes any bytes and says whether our promises about them hold.
// libFuzzer drives one entry per program; a unit test drives all of them with random bytes.

#include <cstdint>
#include <span>
#include <string_view>

namespace softib::fuzz {

struct Entry {
    std::string_view name;
    bool (*holds)(std::span<const std::uint8_t> input);
};

std::span<const Entry> entries();

}  // namespace softib::fuzz
