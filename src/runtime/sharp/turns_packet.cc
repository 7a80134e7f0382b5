// SPDX-License-Identifier: BSD-2-Clause
// Turns on the packet path: a member hands its contribution to the carrier, and gets the result
// from it.
#include "runtime/sharp/turns.h"
#include "runtime/shm/thread.h"

namespace softib::sharp {

/// Posts a turn to the carrier. Returns false, with nothing changed, while the slot has an earlier
/// turn that this member has not left.
bool Turns::post(std::uint64_t number, const Turn& turn, const PieceList& in) {
    if (number >= left_ + kSlots) {
        return false;
    }
    // Where members contribute parts of one vector, their other bytes count as zeros: OR joins all.
    const sharp::Reduction reduction =
        turn.reduces ? turn.reduction
                     : sharp::Reduction{sharp::DataType::kU8, sharp::ReduceOp::kBitOr};
    const std::uint64_t data = SlotLayout(members_).data(turn.bytes, rank_);
    if (turn.in_bytes != 0) {
        in.copy_out(turn.in_at, turn.in_bytes, part(number, data + turn.in_offset));
    }
    PostedTurn& at = posts_[number % kSlots];
    at.bytes = turn.bytes;
    at.streaming = turn.streaming ? 1 : 0;
    at.data_type = static_cast<std::uint8_t>(reduction.type);
    at.reduce_op = static_cast<std::uint8_t>(reduction.op);
    at.tag_type = static_cast<std::uint8_t>(reduction.tag);
    at.give_begin = turn.in_offset;
    at.give_end = turn.in_offset + turn.in_bytes;
    at.take_begin = turn.out_offset;
    at.take_end = turn.out_offset + turn.out_bytes;
    at.posted.store(number + 1, std::memory_order_release);
    wake_carrier();
    return true;
}

/// Takes the result of a turn and leaves it. Returns false if the carrier has not done it yet.
bool Turns::collect(std::uint64_t number, const Turn& turn, const PieceList& out) {
    if (posts_[number % kSlots].done.load(std::memory_order_acquire) != number + 1) {
        wake_carrier();
        return false;
    }
    if (turn.out_bytes != 0) {
        const std::uint64_t data = SlotLayout(members_).data(turn.bytes, rank_);
        out.copy_in(turn.out_at, turn.out_bytes, part(number, data + turn.out_offset));
    }
    has_left(number);
    return true;
}

/// Wakes the carrier if it sleeps. A member reads the arena but cannot write into it, so it cannot
/// set the carrier's doorbell, and a carrier that is about to sleep misses this call. A member that
/// waits therefore calls again.
void Turns::wake_carrier() const {
    if (fabric_ != nullptr && fabric_->base != nullptr &&
        fabric_->header->carrier_sleeping.load() != 0) {
        shm::futex_wake(fabric_->header->carrier_doorbell);
    }
}

}  // namespace softib::sharp
