// SPDX-License-Identifier: BSD-2-Clause
#include "abi/sharp/operation.h"

#include <algorithm>

#include "core/base/mix.h"

namespace softib::abi::sharp {

/// Returns the bytes of a full turn: whole elements, if they are reduced.
std::uint32_t Operation::window() const {
    const auto element = static_cast<std::uint32_t>(reduction.element_bytes());
    return reduces() ? softib::sharp::kWindowBytes / element * element
                     : softib::sharp::kWindowBytes;
}

std::uint64_t Operation::turns() const {
    return bytes == 0 ? 1 : (bytes + window() - 1) / window();
}

std::uint64_t Operation::signature() const {
    const std::uint64_t what = std::uint64_t{kind} | std::uint64_t{reduction.element_bytes()} << 8 |
                               static_cast<std::uint64_t>(reduction.type) << 16 |
                               static_cast<std::uint64_t>(reduction.op) << 24 |
                               std::uint64_t{root} << 32;
    return softib::mix(softib::mix(what) + bytes) | 1;
}

softib::sharp::Turn Operation::turn(std::uint64_t index, std::uint32_t rank,
                                    const softib::sharp::GroupHeader& header) const {
    const std::uint64_t begin = index * window();
    const std::uint64_t end = std::min<std::uint64_t>(bytes, begin + window());
    const auto cost = [&](std::uint64_t length) {
        return softib::sharp::wire_cost(header, length, streaming);
    };
    softib::sharp::Turn turn{.bytes = static_cast<std::uint32_t>(end - begin)};
    turn.reduces = reduces();
    turn.streaming = streaming;
    turn.reduction = reduction;
    turn.signature = signature();
    const auto give_all = [&] { turn.in_bytes = turn.bytes, turn.in_at = begin; };
    const auto take_all = [&] { turn.out_bytes = turn.bytes, turn.out_at = begin; };
    const std::uint64_t own_first = std::max(begin, own_begin);
    const std::uint64_t own_last = std::min(end, own_end);
    const auto own = static_cast<std::uint32_t>(own_last > own_first ? own_last - own_first : 0);
    switch (kind) {
        case kBarrier:
        case kAllReduce:
            give_all();
            take_all();
            turn.all_up = turn.all_down = turn.sent = turn.received = cost(turn.bytes);
            break;
        case kReduce:
            give_all();
            turn.all_up = turn.sent = cost(turn.bytes);
            if (rank == root) {
                take_all();
                turn.received = turn.only_down = turn.sent;
            }
            break;
        case kReduceScatter:
            give_all();
            turn.all_up = turn.sent = cost(turn.bytes);
            if (own != 0) {
                turn.out_offset = static_cast<std::uint32_t>(own_first - begin);
                turn.out_bytes = own;
                turn.out_at = own_first - own_begin;
                turn.received = turn.only_down = cost(own);
            }
            break;
        case kBroadcast:
            turn.all_down = cost(turn.bytes);
            if (rank == root) {
                give_all();
                turn.sent = turn.only_up = turn.all_down;
            } else {
                take_all();
                turn.sent = cost(0);
                turn.received = turn.all_down;
            }
            break;
        case kAllGather:
            take_all();
            turn.all_down = cost(turn.bytes);
            turn.sent = cost(own);
            if (own != 0) {
                turn.in_offset = static_cast<std::uint32_t>(own_first - begin);
                turn.in_bytes = own;
                turn.in_at = own_first - own_begin;
                turn.only_up = turn.sent;
            }
            if (own != turn.bytes) {
                turn.received = cost(turn.bytes - own);
            }
            break;
    }
    return turn;
}

}  // namespace softib::abi::sharp
