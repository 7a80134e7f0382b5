// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The benchmarks that people run on clusters, and what was measured with them: the tables of
// nccl-tests, of the OSU micro-benchmarks and of perftest, and what NCCL said of itself beside
// them. spec/measured reads these from logs; expectation.h says what a cluster should give.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/collective/collective.h"

namespace softib::plan {

enum class Tool : std::uint8_t { kNcclTests, kOsu, kPerftest };
const char* to_string(Tool tool);  ///< "nccl-tests"

/// What a benchmark does, as far as its time is concerned.
enum class Work : std::uint8_t {
    kOperation,  ///< A collective operation, Benchmark::op.
    kReduce,     ///< A broadcast backwards.
    kGather,
    kScatter,
    kHypercube,  ///< An all-gather by exchanges with partners.
    kLatency,    ///< A message between two hosts.
    kStream,     ///< Many messages from one host to another.
    kBothWays,   ///< The same in both directions at once.
};

struct Benchmark {
    const char* name;  ///< That of the program: "all_reduce_perf".
    Tool tool;
    Work work;
    Op op;
    const char* title;  ///< What its output calls it, as "Allreduce Latency Test".
    double ways = 1;    ///< How many times a message of it crosses the fabric: 2 for a READ.

    /// Returns whether its figures are GB/s; else they are microseconds.
    bool is_bandwidth() const { return work == Work::kStream || work == Work::kBothWays; }
    /// Returns whether two hosts take part, and not more.
    bool is_pair() const { return is_bandwidth() || work == Work::kLatency; }
    /// Returns the ratio busbw / algbw of nccl-tests.
    double bus_factor(std::uint64_t ranks) const;
};
std::span<const Benchmark> benchmarks();
/// Returns the benchmark of this name; nullptr if there is none.
const Benchmark* find_benchmark(std::string_view name);

struct MeasuredRow {
    std::uint64_t bytes = 0;
    /// Microseconds, or GB/s for a bandwidth: out of place, and in place.
    std::array<std::optional<double>, 2> values = {};
    std::uint64_t wrong = 0;  ///< Elements whose values were wrong.
    std::uint32_t line = 0;
};

/// A table of one benchmark.
struct MeasuredTable {
    const Benchmark* benchmark = nullptr;  ///< nullptr: the log does not say.
    std::string file = {};
    std::uint32_t line = 0;   ///< That of its header.
    std::uint32_t ranks = 0;  ///< 0: the log does not say.
    std::uint32_t nodes = 0;
    std::uint32_t root_kind = 0;  ///< Bits of what columns say: kHasRoot, kHasSum.
    bool gpu_memory = false;      ///< Whether messages between two hosts are in GPUs' memory.
    std::string gpu = {};         ///< The name that the driver gives the first GPU.
    std::vector<MeasuredRow> rows = {};

    static constexpr std::uint32_t kHasRoot = 1;
    static constexpr std::uint32_t kHasSum = 2;
    double bus_factor = 0;  ///< The ratio busbw / algbw of its longest row; 0: none.
};

/// What NCCL or another tool said of a run beside its figures.
enum class FactKind : std::uint8_t {
    kInfiniBand,  ///< NCCL takes InfiniBand; the value is the number of NICs.
    kRoce,        ///< The same on Ethernet.
    kSocket,      ///< NCCL takes sockets.
    kGdr,         ///< NICs reach the memory of GPUs.
    kNoGdr,       ///< They do not.
    kNvls,        ///< NVSwitches can add up.
    kNoNvls,
    kAlgorithm,  ///< NCCL_ALGO is set; the value is its text.
    kProtocol,   ///< NCCL_PROTO is set.
    kChannels,   ///< Channels of collective operations.
    kSharpUsed,  ///< SHARP's plug-in works.
    kSharpMissing,
    kNoP2p,  ///< GPUs of a node do not reach each other's memory.
    kMtu,    ///< The MTU of a test of perftest.
};
struct Fact {
    FactKind kind;
    std::string value = {};
    std::string place = {};  ///< FILE:LINE
    std::string text = {};   ///< The words of the log.
};

struct MeasuredLog {
    std::vector<MeasuredTable> tables = {};
    std::vector<Fact> facts = {};         ///< The first of each kind and value.
    std::vector<std::string> notes = {};  ///< What was not read, and why.
};

}  // namespace softib::plan
