// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <time.h>

#include <cstdint>

namespace softib::shm {

inline std::uint64_t monotonic_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_nsec);
}

}  // namespace softib::shm
