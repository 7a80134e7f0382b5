// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace softib {

inline constexpr std::uint64_t kNsPerMs = 1'000'000;
inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

}  // namespace softib
