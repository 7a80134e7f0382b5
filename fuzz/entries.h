// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The entries of the fuzzers. Each entry takes any bytes, gives them to a part of softib, and
// returns whether the part kept its promises. libFuzzer drives one entry per program; a unit test
// drives all of them with random bytes.

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace softib::fuzz {

struct Entry {
    std::string_view name;
    std::function<bool(std::span<const std::uint8_t> input)> holds;
};

std::span<const Entry> entries();

}  // namespace softib::fuzz
