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

// A clock for moments of 100 to 500 ns, which may be read in each poll. Its tick is 0.2 to 1 ns.
#if defined(__x86_64__)
inline std::uint64_t cpu_ticks() {
    return __builtin_ia32_rdtsc();
}
inline constexpr std::uint32_t kTicksIn100Ns = 300;
#else
inline std::uint64_t cpu_ticks() {
    return monotonic_ns();
}
inline constexpr std::uint32_t kTicksIn100Ns = 100;
#endif

}  // namespace softib::shm
