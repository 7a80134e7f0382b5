// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The packets inside an engine, and the order in which they wait at lanes.
//
// The inputs of a switch take turns at a lane: 4 KiB for each input in a round. A queue is in the
// order of its rounds. Round numbers are multiples of kRound. The next turn of an input is the
// number of its round plus what the input has used of that round, in units of 512 bytes. The
// present round is that of the queue's first packet. The next packet of an input joins the round of
// its next turn, or the present round if that one is over. A queue that was empty begins with a
// round number taken from the clock. Rounds advance more slowly than the clock, so turns that
// inputs have left from earlier queues lie behind.

#include <algorithm>
#include <cstdint>

#include "core/link/credits.h"
#include "net/plant/fetch.h"
#include "net/plant/lane.h"
#include "net/plant/packet.h"
#include "net/plant/pages.h"

namespace softib::net {

class Queues {
  public:
    /// An input that takes no turns: packets that start at the port.
    static constexpr std::uint32_t kOwn = UINT32_MAX;
    static constexpr std::uint32_t kRoundBytes = 4096;  ///< What an input may send in a round.

    /// `inputs`: one more than the highest number of an input.
    Queues(std::size_t lanes, std::size_t inputs)
        : inputs_(inputs), turns_at_(lanes * inputs), round_ends_(lanes * kRoundsOpen) {}

    PacketPool& packets() { return packets_; }
    const PacketPool& packets() const { return packets_; }
    Packet& operator[](std::uint32_t index) { return packets_[index]; }
    const Packet& operator[](std::uint32_t index) const { return packets_[index]; }

    /// Begins a queue that is empty with a packet, whose number is `index`. `at_units`: the present
    /// time.
    void begin(Lane& to, std::uint32_t index, Packet& packet, std::uint16_t blocks,
               std::uint32_t at_units) {
        packet.next = kNone;
        packet.round_or_copies = static_cast<std::uint16_t>(at_units / kRound * kRound);
        to.head = index;
        to.head_round = to.tail_round = packet.round_or_copies;
        to.queued_blocks = blocks;
        to.head_blocks = static_cast<std::uint8_t>(blocks);
        to.head_since_units = at_units;
    }
    /// Puts a packet into a queue that is not empty, behind all packets of its round. `lane`:
    /// number of the queue; `input`: by which the packet came.
    void line_up(std::size_t lane, Lane& to, std::uint32_t index, Packet& packet,
                 std::uint32_t input, std::uint16_t blocks) {
        const std::uint16_t round = turn(lane, to, packet, input);
        std::uint32_t* ends = round_ends_.data() + lane * kRoundsOpen;
        const auto end_of = [&](std::uint16_t round_number) -> std::uint32_t& {
            return ends[round_number / kRound % kRoundsOpen];
        };
        if (to.queued_blocks == to.head_blocks) {
            end_of(to.tail_round) = to.head;  // The head was alone in the queue.
        }
        const bool opens = round == static_cast<std::uint16_t>(to.tail_round + kRound);
        const std::uint32_t before = end_of(opens ? to.tail_round : round);
        packet.round_or_copies = round;
        packet.next = packets_[before].next;
        packets_[before].next = index;
        end_of(round) = index;
        if (opens) {
            to.tail_round = round;
        }
        to.queued_blocks += blocks;
    }
    /// Takes the first packet out of a queue that is not empty. Returns its index.
    std::uint32_t pop(Lane& from, std::uint32_t at_units) {
        const std::uint32_t index = from.head;
        packets_[index].round_or_copies = 0;
        from.head = packets_[index].next;
        from.queued_blocks -= from.head_blocks;
        from.starved = 0;
        if (from.head != kNone) {
            const Packet& head = packets_[from.head];
            from.head_blocks = static_cast<std::uint8_t>(link::blocks_of(head.bytes));
            from.head_round = head.round_or_copies;
            // The packet behind the new head comes soon.
            __builtin_prefetch(place_of(packets_.data(), head.next));
            from.head_since_units = at_units;
        }
        return index;
    }

    // To prefetch what line_up() will touch.
    const void* turn_place(std::size_t lane, std::uint32_t input) const {
        return place_of(turns_at_.data(), lane * inputs_ + input);
    }
    const std::uint32_t& last_of_round(std::size_t lane, std::uint16_t round) const {
        return round_ends_[lane * kRoundsOpen + round / kRound % kRoundsOpen];
    }

    std::size_t bytes() const {
        return turns_at_.size() * sizeof(std::uint16_t) +
               round_ends_.size() * sizeof(std::uint32_t) + packets_.bytes();
    }

  private:
    static constexpr std::uint16_t kRound = 8;
    static constexpr std::uint32_t kRoundsOpen = 32;  ///< Rounds that one queue spans at most.

    /// Returns the round of a packet that is put into a queue, and charges its input for it.
    std::uint16_t turn(std::size_t lane, const Lane& to, const Packet& packet,
                       std::uint32_t input) {
        const std::uint16_t newest = to.tail_round;
        if (input == kOwn) {
            return newest;
        }
        std::uint16_t& next = turns_at_[lane * inputs_ + input];
        const std::uint16_t at_hand = to.head_round;
        const auto open = static_cast<std::uint16_t>(newest - at_hand);
        if (static_cast<std::uint16_t>(next - at_hand) >= open + 2 * kRound) {
            next = at_hand;  // The input's last turn lies behind the present round.
        }
        auto round = static_cast<std::uint16_t>(next / kRound * kRound);
        if (static_cast<std::uint16_t>(round - at_hand) >= kRound * kRoundsOpen) {
            next = round = newest;  // Too many rounds are open: packets go in the order they came.
        }
        next = static_cast<std::uint16_t>(next + std::max(packet.bytes * kRound / kRoundBytes, 1U));
        return round;
    }

    PacketPool packets_;
    std::size_t inputs_;
    Table<std::uint16_t> turns_at_;    ///< By lane, then by input: its next turn.
    Table<std::uint32_t> round_ends_;  ///< By lane: the last packet of each round in its queue.
};

}  // namespace softib::net
