// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Rates and amounts of the flow model as integers, so that sums do not depend on their order and a
// run is the same everywhere.

#include <cstdint>

#include "core/link/rate.h"

namespace softib::net::flow {

using link::kNever;
using link::TimePs;

using Work = std::uint64_t;  ///< An amount: 1/256 byte.
using Rate = std::uint64_t;  ///< Work in a second.

inline constexpr std::uint64_t kWorkPerByte = 256;
inline constexpr std::uint64_t kPsPerSecond = 1'000'000'000'000;

__extension__ typedef unsigned __int128 Wide;

constexpr Work work_of(std::uint64_t bytes) {
    return bytes * kWorkPerByte;
}

/// Returns the rate of a link that takes this long for 64 bytes.
constexpr Rate rate_of(std::uint32_t ps_per_64_bytes) {
    return 64 * kWorkPerByte * kPsPerSecond / ps_per_64_bytes;
}
/// Returns the work that is done in a time, rounded down.
constexpr Work work_done(Rate rate, TimePs time) {
    return static_cast<Work>(Wide{rate} * time / kPsPerSecond);
}
/// Returns the time that a work takes, rounded up, so that no work ends too early.
constexpr TimePs time_for(Work work, Rate rate) {
    return static_cast<TimePs>((Wide{work} * kPsPerSecond + rate - 1) / rate);
}

}  // namespace softib::net::flow
