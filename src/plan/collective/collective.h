// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The vocabulary of collective operations: the operation, its algorithm, NCCL's protocol, and how
// nccl-tests reports bandwidth.

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
    kSendRecv,  ///< Each rank sends to the next.
};
inline constexpr std::array kOps{Op::kAllReduce, Op::kAllGather, Op::kReduceScatter,
                                 Op::kBroadcast, Op::kAllToAll,  Op::kSendRecv};

enum class Algorithm : std::uint8_t {
    kRing,          ///< A flat ring over all GPUs.
    kTree,          ///< NCCL's double binary tree over nodes, with a chain inside each node.
    kRecursive,     ///< Recursive halving and doubling over nodes, NVLink inside nodes.
    kHierarchical,  ///< NVLink inside nodes, and rings over nodes with one rail for each GPU.
    kPat,           ///< Parallel aggregated trees: all-gather and reduce-scatter in log steps.
    kNvls,          ///< NVSwitches reduce inside a domain, InfiniBand switches between domains.
    kNvlsTree,      ///< NVSwitches reduce inside a domain, double binary trees join domains.
    kSharp,         ///< Switches reduce (SHARP); NCCL's CollNetDirect.
    kSharpChain,    ///< Switches reduce, with a chain inside nodes; NCCL's CollNetChain.
    kDirect,        ///< Each rank sends directly to the rank that its data are for.
};
/// Each has a row in algorithms.cc, in this order.
inline constexpr std::array kAlgorithms{
    Algorithm::kRing,       Algorithm::kTree,  Algorithm::kRecursive, Algorithm::kHierarchical,
    Algorithm::kPat,        Algorithm::kNvls,  Algorithm::kNvlsTree,  Algorithm::kSharp,
    Algorithm::kSharpChain, Algorithm::kDirect};

enum class Protocol : std::uint8_t { kLl, kLl128, kSimple };
inline constexpr std::array kProtocols{Protocol::kLl, Protocol::kLl128, Protocol::kSimple};

const char* to_string(Op op);                ///< "all-reduce"
const char* to_string(Algorithm algorithm);  ///< "ring"
const char* to_string(Protocol protocol);    ///< "LL128"
/// Returns the operation of this name. The error names the nearest name, or all.
std::expected<Op, std::string> parse_op(std::string_view text);
std::expected<Algorithm, std::string> parse_algorithm(std::string_view text);
std::expected<Protocol, std::string> parse_protocol(std::string_view text);

/// Returns whether the algorithm can compute the operation.
bool computes(Algorithm algorithm, Op op);
/// Returns the algorithms that can compute the operation, in the order of kAlgorithms.
std::vector<Algorithm> algorithms_of(Op op);

/// Returns the ratio busbw / algbw of nccl-tests: the bytes that a rank moves for each byte of the
/// operation's size.
double bus_factor(Op op, std::uint64_t ranks);

}  // namespace softib::plan
