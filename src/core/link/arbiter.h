// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// VL arbitration: the choice of the virtual lane of a port that sends next (IBA vol. 1, 7.6.9).
// VL15 goes before all others. Two lists of (lane, weight) share the rest: the high-priority list
// sends until it has sent high_limit times 4,096 bytes while the low-priority list waited; then one
// packet of the low-priority list is sent. Within a list the lanes take turns. A lane may send its
// weight, in units of 64 bytes, before the next lane has its turn; the last packet of a turn may
// exceed it.

#include <array>
#include <bit>
#include <cstdint>

#include "core/link/credits.h"

namespace softib::link {

inline constexpr std::uint8_t kVl15 = 15;
inline constexpr std::uint8_t kNoVl = 0xFF;
inline constexpr std::uint8_t kUnlimited = 255;  ///< The value of high_limit that means no limit.

struct ArbitrationTable {
    struct Entry {
        std::uint8_t vl = 0;
        std::uint8_t weight = 0;  ///< In units of 64 bytes; 0: the entry is skipped.
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    static constexpr std::uint8_t kEntriesMax = 64;

    std::array<Entry, kEntriesMax> high{};
    std::array<Entry, kEntriesMax> low{};
    std::uint8_t high_count = 0;
    std::uint8_t low_count = 0;
    std::uint8_t high_limit = 0;  ///< In units of 4,096 bytes; 0: one packet, 255: no limit.
    friend bool operator==(const ArbitrationTable&, const ArbitrationTable&) = default;

    /// Returns the lanes that can send, as bits: those with a weight in a list, and VL15.
    std::uint16_t lanes() const;
    /// Returns the table of a port at power-up: all lanes in the low list, with equal weights.
    static ArbitrationTable equal(std::uint8_t data_vls);
};

class Arbiter {
  public:
    /// Returns the lane to send from, one of those in `ready` (bit n: lane n has a packet and the
    /// credits for it); kNoVl if none is ready, or if the lists have no entry for those that are.
    /// The caller calls charge() when the packet is sent.
    std::uint8_t choose(const ArbitrationTable& table, std::uint16_t ready);
    /// Charges a packet that was sent to the turn of the lane that choose() returned last.
    void charge(std::uint32_t bytes);

  private:
    struct Turn {
        std::uint8_t entry = 0;
        /// The rest of the entry's weight, in units of 64 bytes; 0: the turn of the entry is over.
        std::uint8_t left = 0;
    };
    static bool find(const std::array<ArbitrationTable::Entry, ArbitrationTable::kEntriesMax>& list,
                     std::uint8_t count, std::uint16_t ready, Turn& turn);

    Turn high_;
    Turn low_;
    std::uint32_t high_bytes_ = 0;  ///< Bytes sent from the high list while the low list waited.
    bool from_high_ = false;
    bool low_waits_ = false;
};

}  // namespace softib::link
