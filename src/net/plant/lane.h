// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One virtual lane of one direction of a cable: the queue at its sender, and the credits of the
// buffer at its receiver. One cache line.
//
// Credits come back in flow control packets, which the receiver sends on a grid of time, every
// 2^shift units of 1,024 ps: room that was freed since the last grid point becomes known at the
// next. Credits on their way are in the slots below and are added up only when the sender needs
// them, so that a credit that no packet waits for costs no event. The slots cover the time of a
// packet and a cable; credits that come later are events of kind kRelease.

#include <algorithm>
#include <cstdint>

#include "core/link/credits.h"
#include "net/plant/units.h"

namespace softib::net {

struct alignas(64) Lane {
    static constexpr std::uint32_t kSlots = 16;
    static constexpr unsigned kUnitShift = 10;  ///< 1,024 ps.
    // Values of `starved`: what the receiver's end must do besides when it returns credits.
    static constexpr std::uint8_t kStarved = 1;  ///< Wake the sender, which waits for credits.
    static constexpr std::uint8_t kRemote = 2;   ///< Tell the engine that carries the sender.

    std::uint16_t fctbs = 0;           ///< FCTBS: blocks sent.
    std::uint16_t fccl = 0;            ///< FCCL, the limit of FCTBS, as the sender knows it.
    std::uint16_t pending = 0;         ///< Sum of the slots.
    std::uint8_t head_blocks = 0;      ///< Blocks of the first packet in the queue.
    std::uint8_t starved = 0;          ///< kStarved, kRemote or 0.
    std::uint32_t base = 0;            ///< The grid point of the first slot not yet taken in.
    std::uint16_t slots[kSlots] = {};  ///< Blocks by grid point, modulo kSlots.
    std::uint32_t head = kNone;        ///< The first packet in the queue.
    std::uint16_t head_round = 0;  ///< Round of the first packet in the queue, see Queues::turn().
    std::uint16_t tail_round = 0;  ///< Round of the last packet in the queue.
    std::uint32_t queued_blocks = 0;
    /// When the first packet became the first; unit 1,024 ps.
    std::uint32_t head_since_units = 0;
    std::uint32_t return_delay = 0;  ///< Delay of the cable in ps; above it, in 5 bits, `shift`.

    /// Returns the grid point of a time.
    std::uint32_t grid(TimePs at) const {
        return static_cast<std::uint32_t>(at >> (kUnitShift + (return_delay >> 27)));
    }
    TimePs cable_ps() const { return return_delay & 0x7FFFFFF; }
    /// Adds credits that have come back up to the grid point `now` to `fccl`.
    void absorb(std::uint32_t now) {
        while (pending != 0 && static_cast<std::int32_t>(now - base) >= 0) {
            std::uint16_t& slot = slots[base % kSlots];
            fccl = link::count_after(fccl, slot);
            pending = static_cast<std::uint16_t>(pending - slot);
            slot = 0;
            ++base;
        }
        if (pending == 0) {
            base = now + 1;
        }
    }
    /// Returns whether a slot is free for credits that become known at `point`, which lies ahead.
    /// If not, call absorb() and ask again: it empties slots whose time has passed.
    bool has_slot(std::uint32_t point) const { return point - base < kSlots; }
    /// Returns the grid point, after that of `now`, at which the sender knows of room that is free
    /// from `at` on.
    std::uint32_t point_of(TimePs at, TimePs now) const {
        const unsigned shift = kUnitShift + (return_delay >> 27);
        const TimePs seen = at + cable_ps() + (TimePs{1} << shift) - 1;
        return static_cast<std::uint32_t>(std::max(seen >> shift, (now >> shift) + 1));
    }
    /// Returns `blocks` credits, which the sender will know at `point`. has_slot(point) must hold.
    void give_back(std::uint32_t point, std::uint16_t blocks) {
        slots[point % kSlots] = static_cast<std::uint16_t>(slots[point % kSlots] + blocks);
        pending = static_cast<std::uint16_t>(pending + blocks);
    }
    /// Returns whether the sender has credits for `blocks` blocks.
    bool may_send(std::uint16_t blocks, TimePs now) {
        if (link::may_send(fctbs, fccl, blocks)) [[likely]] {
            return true;
        }
        absorb(grid(now));
        return link::may_send(fctbs, fccl, blocks);
    }
    /// Returns when credits for `blocks` blocks will be there, counting those on their way back;
    /// kNever if these are too few. Call absorb() first.
    TimePs credits_at(std::uint16_t blocks, TimePs now) const {
        std::uint32_t have = link::credits(fctbs, fccl);
        if (have + pending < blocks) {
            return kNever;
        }
        std::uint32_t point = base;
        for (; have < blocks; ++point) {
            have += slots[point % kSlots];
        }
        const unsigned shift = kUnitShift + (return_delay >> 27);
        const auto later = static_cast<std::int32_t>(point - 1 - grid(now));
        return ((now >> shift) + static_cast<TimePs>(std::int64_t{later})) << shift;
    }
};
static_assert(sizeof(Lane) == 64);

}  // namespace softib::net
