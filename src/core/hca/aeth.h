// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The syndrome in the AETH of an acknowledgement (IBA vol. 1, 9.7.5). Two bits are its kind; five
// bits are a credit count (ACK), an RNR timer code (RNR NAK) or a NAK code.

#include <array>
#include <cstdint>

namespace softib::hca {

enum class AckKind : std::uint8_t { kAck = 0, kRnrNak = 1, kReserved = 2, kNak = 3 };

enum class NakCode : std::uint8_t {
    kSequenceError = 0,
    kInvalidRequest = 1,
    kRemoteAccessError = 2,
    kRemoteOperationalError = 3,
    kInvalidRdRequest = 4,
};

struct Syndrome {
    AckKind kind{};
    std::uint8_t value = 0;     ///< Five bits: credit count, RNR timer code or NAK code.
    bool reserved_bit = false;  ///< The highest bit, which must be zero.

    static constexpr Syndrome parse(std::uint8_t bits) {
        return {.kind = static_cast<AckKind>(bits >> 5 & 3),
                .value = static_cast<std::uint8_t>(bits & 0x1F),
                .reserved_bit = (bits & 0x80) != 0};
    }
    constexpr std::uint8_t emit() const {
        return static_cast<std::uint8_t>(static_cast<unsigned>(kind) << 5 | (value & 0x1FU));
    }
    friend constexpr bool operator==(const Syndrome&, const Syndrome&) = default;
};

constexpr Syndrome nak(NakCode code) {
    return {.kind = AckKind::kNak, .value = static_cast<std::uint8_t>(code)};
}

/// The code of end-to-end credits (IBA vol. 1, 9.7.7.2) by which a responder says that it does not
/// count them. Other codes say for how many more messages it has receive requests.
inline constexpr std::uint8_t kCreditsUncounted = 31;
/// The number of credits of each other code.
inline constexpr std::array<std::uint16_t, 31> kCreditCounts{
    0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,  192,
    256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};

/// Returns the code of the largest number of credits that is not more than `count`.
constexpr std::uint8_t credit_code(std::uint32_t count) {
    std::uint8_t code = kCreditCounts.size() - 1;
    while (kCreditCounts[code] > count) {
        --code;
    }
    return code;
}

}  // namespace softib::hca
