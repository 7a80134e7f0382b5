// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The words of collective operations: what is computed, by which algorithm, with which of NCCL's
// protocols, and how nccl-tests reports the time of it.

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace softib::plan {

enum class Op : std::uint8_t {
    kAllReduce,
    kAllGather,
    kReduceScatter,
    kBroadcast,
    kAllToAll,
    kSendRecv,  ///< Everybody to the next rank.
};
inline constexpr std::array kOps{Op::kAllReduce, Op::kAllGather, Op::kReduceScatter,
                                 Op::kBroadcast, Op::kAllToAll,  Op::kSendRecv};

enum class Algorithm : std::uint8_t {
    kTree,          ///< NCCL's double binary tree over nodes, a chain inside each.
    kRing,          ///< Flat over all GPUs.
    kSharp,         ///< Switches add up; NCCL's CollNetDirect.
    kSharpChain,    ///< The same with a chain inside nodes; NCCL's CollNetChain.
    kNvls,          ///< NVSwitches add up inside a domain, rings join domains.
    kNvlsTree,      ///< NVSwitches add up inside a domain, double binary trees join domains.
    kPat,           ///< Parallel aggregated trees: all-gather and reduce-scatter in log steps.
    kRecursive,     ///< Recursive halving and doubling over nodes, NVLink inside.
    kHierarchical,  ///< NVLink inside, rings over nodes with one rail for each GPU outside.
    kNvlsSharp,     ///< NVSwitches add up inside a domain, switches between domains.
    kDirect,        ///< Everybody sends to whom it is for.
};
inline constexpr std::array kAlgorithms{
    Algorithm::kRing,       Algorithm::kTree,      Algorithm::kRecursive, Algorithm::kHierarchical,
    Algorithm::kPat,        Algorithm::kNvls,      Algorithm::kNvlsTree,  Algorithm::kSharp,
    Algorithm::kSharpChain, Algorithm::kNvlsSharp, Algorithm::kDirect};

enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr std::array kProtocols{Protocol::kLl, Protocol::kLl128, Protocol::kSimple};

const char* to_string(Op op);                ///< "all-reduce"
const char* to_string(Algorithm algorithm);  ///< "ring"
const char* to_string(Protocol protocol);    ///< "LL128"
/// The error names the nearest name, or all.
std::expected<Op, std::string> parse_op(std::string_view text);
std::expected<Algorithm, std::string> parse_algorithm(std::string_view text);
std::expected<Protocol, std::string> parse_protocol(std::string_view text);

/// Whether the algorithm computes the operation at all.
bool computes(Algorithm algorithm, Op op);
/// Those that do, in the order of kAlgorithms.
std::vector<Algorithm> algorithms_of(Op op);

/// busbw / algbw of nccl-tests: what a rank moves, in parts of the operation's size.
double bus_factor(Op op, std::uint64_t ranks);

}  // namespace softib::plan
