// SPDX-License-Identifier: BSD-2-Clause
#include "core/hca/timers.h"

#include <array>
#include <cstddef>

namespace softib::hca {

namespace {

constexpr std::uint8_t kCodeMask = 0x1F;
constexpr std::uint64_t kAckTimeoutUnitNs = 4096;

// RNR timers in units of 10 us. From code 2 on the value doubles with every second code; the codes
// between have one and a half times the value before.
constexpr std::array<std::uint32_t, 32> kRnrTimer10us{
    65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
    48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
    2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

}  // namespace

std::uint64_t rnr_timer_ns(std::uint8_t code) {
    return std::uint64_t{kRnrTimer10us[code & kCodeMask]} * 10'000;
}

std::uint64_t ack_timeout_ns(std::uint8_t code) {
    const unsigned exponent = code & kCodeMask;
    return exponent == 0 ? kTimeoutInfiniteNs : kAckTimeoutUnitNs << exponent;
}

}  // namespace softib::hca
