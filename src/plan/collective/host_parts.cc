// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/host_parts.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <utility>

namespace softib::plan {

namespace {

/// Software time of sender and receiver together: what remains of OSU's 0.9 us between two hosts of
/// EDR without HCAs, switches and cables.
constexpr double kHostUs = 0.1;

/// Returns the bytes that every rank sends to the next in a step of a ring.
std::uint64_t ring_block(std::uint64_t bytes, std::uint32_t ranks) {
    return std::max<std::uint64_t>(bytes / ranks, 1);
}

}  // namespace

double host_round_us(double step_us) {
    return kHostUs + step_us;
}

Parts ring_on_hosts(const HostGroup& group, Op op, std::uint64_t bytes) {
    Parts parts{.round_us = group.round_us};
    const std::uint32_t count = group.layout.ranks();
    // All steps have the same traffic, so one is played and its time repeated.
    parts.rounds.push_back(
        ring_flows(group.layout, 1, op == Op::kBroadcast ? bytes : ring_block(bytes, count)));
    parts.repeats = (op == Op::kAllReduce ? 2.0 : 1.0) * (count - 1);
    return parts;
}

Parts recursive_on_hosts(const HostGroup& group, Op op, std::uint64_t bytes) {
    Parts parts{.round_us = group.round_us};
    if (op == Op::kAllReduce && bytes <= 4096) {
        // Short vectors are exchanged whole in each round.
        for (Flows& round : doubling_rounds(group.layout, bytes)) {
            std::ranges::for_each(round, [bytes](NicFlow& flow) { flow.bytes = bytes; });
            parts.rounds.push_back(std::move(round));
        }
        return parts;
    }
    if (op != Op::kAllGather) {
        parts.rounds = halving_rounds(group.layout, bytes);
    }
    if (op != Op::kReduceScatter) {
        std::ranges::move(doubling_rounds(group.layout, bytes), std::back_inserter(parts.rounds));
    }
    return parts;
}

Parts tree_on_hosts(const HostGroup& group, Op op, std::uint64_t bytes) {
    Parts parts{.round_us = group.round_us};
    const std::uint32_t count = group.layout.ranks();
    parts.rounds.push_back(op == Op::kBroadcast ? tree_down_flows(group.layout, 1, bytes)
                                                : tree_flows(group.layout, 1, bytes));
    const double hops =
        op == Op::kBroadcast ? tree_down_depth(count) : 2.0 * (std::bit_width(count) - 1);
    parts.software_us = hops * (group.round_us + group.leaf_us);
    return parts;
}

Parts pat_on_hosts(const HostGroup& group, Op, std::uint64_t bytes) {
    return {.rounds = pat_rounds(group.layout, bytes), .round_us = group.round_us};
}

Parts direct_on_hosts(const HostGroup& group, Op op, std::uint64_t bytes) {
    Parts parts{.round_us = group.round_us};
    parts.rounds.push_back(
        op == Op::kAllToAll
            ? all_to_all_flows(group.layout, ring_block(bytes, group.layout.ranks()))
            : send_recv_flows(group.layout, bytes));
    return parts;
}

}  // namespace softib::plan
