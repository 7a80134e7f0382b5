// SPDX-License-Identifier: BSD-2-Clause
// The parts of the operations of an MPI with one rank on each node: rounds, one after the other.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "plan/collective/collective_model.h"

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

std::expected<Parts, std::string> CollectiveModel::on_hosts(Op op, Algorithm algorithm,
                                                            std::uint64_t bytes) {
    Parts parts;
    parts.round_us = kHostUs + step_us_;
    const std::uint32_t count = ranks();
    switch (algorithm) {
        case Algorithm::kRing:
            // All steps have the same traffic, so one is played and its time repeated.
            parts.rounds.push_back(
                ring_flows(layout(), 1, op == Op::kBroadcast ? bytes : ring_block(bytes, count)));
            parts.repeats = (op == Op::kAllReduce ? 2.0 : 1.0) * (count - 1);
            return parts;
        case Algorithm::kRecursive:
            if (op == Op::kAllReduce && bytes <= 4096) {
                // Short vectors are exchanged whole in each round.
                for (Flows& round : doubling_rounds(layout(), bytes)) {
                    std::ranges::for_each(round, [bytes](NicFlow& flow) { flow.bytes = bytes; });
                    parts.rounds.push_back(std::move(round));
                }
                return parts;
            }
            if (op != Op::kAllGather) {
                parts.rounds = halving_rounds(layout(), bytes);
            }
            if (op != Op::kReduceScatter) {
                std::ranges::move(doubling_rounds(layout(), bytes),
                                  std::back_inserter(parts.rounds));
            }
            return parts;
        case Algorithm::kTree:
            parts.rounds.push_back(op == Op::kBroadcast ? tree_down_flows(layout(), 1, bytes)
                                                        : tree_flows(layout(), 1, bytes));
            parts.software_us = (op == Op::kBroadcast ? 1.0 : 2.0) * (std::bit_width(count) - 1) *
                                (kHostUs + step_us_ + leaf_us_);
            return parts;
        case Algorithm::kPat:
            parts.rounds = pat_rounds(layout(), bytes);
            return parts;
        case Algorithm::kDirect:
            parts.rounds.push_back(op == Op::kAllToAll
                                       ? all_to_all_flows(layout(), ring_block(bytes, count))
                                       : send_recv_flows(layout(), bytes));
            return parts;
        case Algorithm::kSharp: {
            const auto levels = sharp_levels();
            if (!levels) {
                return std::unexpected(levels.error());
            }
            const SharpTimes times =
                sharp_times(cluster_.fabric.spec.generation, cluster_.nic_bytes_per_s());
            const bool streams = sharp_limits(cluster_.fabric.spec.generation).sat_trees != 0;
            parts.streamed_us =
                streams ? sharp_us(times, *levels, bytes) : llt_us(times, *levels, bytes);
            return parts;
        }
        default:
            return std::unexpected(fmt::format(
                "{} needs GPUs: on hosts take ring, tree, recursive, pat, direct or sharp",
                to_string(algorithm)));
    }
}

}  // namespace softib::plan
