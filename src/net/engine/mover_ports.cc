// SPDX-License-Identifier: BSD-2-Clause
// Packets that wait at ports which may not send, or for too long. apply_state() puts what a port
// may send and receive into flags, so that an active port costs nothing.
#include <algorithm>
#include <bit>

#include "net/engine/for_each_lane.h"
#include "net/engine/mover.h"

namespace softib::net {

/// Sets the flags of a port by its state, for packets that go out and come in.
void Mover::apply_state(std::uint32_t port) {
    const link::PortStateMachine& now_in = cables_.state(port);
    std::uint16_t& out = plant_.tx(port).special;
    set_flag(out, tx_special::kDown, !now_in.may_send(link::kVl15));
    set_flag(out, tx_special::kClosed, !now_in.may_send(0));
    set_flag(plant_.rx(plant_.peer(port)).special, rx_special::kGuarded,
             now_in.logical() != PortState::kActive);
}

/// Drops all packets that wait at a port.
void Mover::flush(std::uint32_t port) {
    Tx& tx = plant_.tx(port);
    while (tx.waiting != 0) {
        const auto vl = static_cast<std::uint8_t>(std::countr_zero(tx.waiting));
        ++plant_.odd(port).inactive_discards;
        discard(pop_head(port, tx, vl, plant_.lane(port, vl)));
    }
    end_wait(tx);
}

void Mover::end_training(std::uint32_t port, std::uint32_t training) {
    if (cables_.end_training(port, training)) {
        apply_state(port);
    }
}

// Limits of waiting.

void Mover::watch(std::uint32_t port, Tx& tx) {
    if ((tx.special & tx_special::kWatched) != 0) {
        return;
    }
    // A packet that has just come, or comes to the head next, has its whole time before it.
    TimePs first = waits_.deadline_of_next(port, now());
    for_each_lane(tx.waiting, [&](std::uint8_t vl) {
        if (const Lane& lane = plant_.lane(port, vl); vl != link::kVl15) {
            first = std::min(first,
                             waits_.deadline(port, lane, queues_[lane.head].since_units, now()).at);
        }
        return true;
    });
    tx.special |= tx_special::kWatched;
    ++waits_.watching;
    schedule_.post(first, port, EventKind::kLimit);
}

void Mover::enforce_limits(std::uint32_t port) {
    Tx& tx = plant_.tx(port);
    tx.special &= static_cast<std::uint16_t>(~tx_special::kWatched);
    --waits_.watching;
    bool dropped = false;
    for (std::uint8_t vl = 0; vl < plant_.config().data_vls; ++vl) {
        const std::uint32_t number = plant_.lane_index(port, vl);
        Lane& from = plant_.lane_at(number);
        while (from.head != kNone) {
            const Waits::Deadline due =
                waits_.deadline(port, from, queues_[from.head].since_units, now());
            if (due.at > now()) {
                break;
            }
            if (due.of_head) {
                ++plant_.odd(port).hoq_lifetime_discards;
                waits_.dropped_head(port, number, plant_.lane_count(), now());
            } else {
                ++plant_.odd(port).lifetime_discards;
            }
            lane_counts_.late(number);
            discard(pop_head(port, tx, vl, from));
            dropped = true;
        }
    }
    if (tx.waiting == 0) {
        end_wait(tx);
        return;
    }
    if (dropped && tx.free_at <= now()) {
        send_next(port, tx);
    }
    if (tx.waiting != 0 && waits_.of(port).any()) {
        watch(port, tx);
    }
}

/// Ends the wait of a port whose packets were all dropped.
void Mover::end_wait(Tx& tx) {
    if (tx.blocked_at != kNever) {
        tx.wait_ps += now() > tx.blocked_at ? now() - tx.blocked_at : 0;
        tx.blocked_at = kNever;
    }
}

}  // namespace softib::net
