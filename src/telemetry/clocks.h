// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two clocks of telemetry: a monotonic one, for rates, and that of the day (since 1970), for
// time stamps.

#include <cstdint>
#include <ctime>

#include "runtime/shm/clock.h"

namespace softib::telemetry {

using shm::monotonic_ns;

inline std::int64_t wall_us() {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    return std::int64_t{t.tv_sec} * 1'000'000 + t.tv_nsec / 1'000;
}

}  // namespace softib::telemetry
