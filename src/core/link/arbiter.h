// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Chooses the lane of a port that sends next (IBA vol. 1, 7.6.9). VL15 goes before all others. Two
// lists of (lane, weight) share the rest: the high list until it has sent high_limit times 4,096
// bytes while low priority waited, then one packet of the low list. Within a list lanes take turns;
// each may send its weight in units of 64 bytes before the next has its turn, and the last packet
// of a turn may run over.

#include <array>
#include <bit>
#include <cstdint>

#include "core/link/credits.h"

namespace softib::link {

inline constexpr std::uint8_t kVl15 = 15;
inline constexpr std::uint8_t kNoVl = 0xFF;
inline constexpr std::uint8_t kUnlimited = 255;  ///< As high_limit.

struct ArbitrationTable {
    struct Entry {
        std::uint8_t vl = 0;
        std::uint8_t weight = 0;  ///< In units of 64 bytes; 0: skipped.
        friend bool operator==(const Entry&, const Entry&) = default;
    };
    static constexpr std::uint8_t kEntriesMax = 64;

    std::array<Entry, kEntriesMax> high{};
    std::array<Entry, kEntriesMax> low{};
    std::uint8_t high_count = 0;
    std::uint8_t low_count = 0;
    std::uint8_t high_limit = 0;  ///< In units of 4,096 bytes; 0: one packet, 255: no limit.
    friend bool operator==(const ArbitrationTable&, const ArbitrationTable&) = default;

    /// Bit n: lane n is in a list with a weight; others never send. VL15 always does.
    std::uint16_t lanes() const;
    /// As at power-up: every lane alike, in the low list.
    static ArbitrationTable equal(std::uint8_t data_vls);
};

class Arbiter {
  public:
    /// The lane to send from, of those in `ready` (bit n: lane n has a packet and its credits).
    /// kNoVl if none is ready, or if the lists have no entry for those that are. Say charge() when
    /// the packet is sent.
    std::uint8_t choose(const ArbitrationTable& table, std::uint16_t ready);
    /// The packet of the lane that choose() has named is sent.
    void charge(const ArbitrationTable& table, std::uint32_t bytes);

  private:
    struct Turn {
        std::uint8_t entry = 0;
        std::uint8_t left = 0;  ///< In units of 64 bytes; 0: the next entry's turn.
    };
    static bool find(const std::array<ArbitrationTable::Entry, ArbitrationTable::kEntriesMax>& list,
                     std::uint8_t count, std::uint16_t ready, Turn& turn);

    Turn high_;
    Turn low_;
    std::uint32_t high_bytes_ = 0;  ///< Sent while low priority waited.
    bool from_high_ = false;
    bool low_waits_ = false;
};

}  // namespace softib::link
