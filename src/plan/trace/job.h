// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A job as a trace: ranks that compute, send, receive and take part in collective operations, each
// operation after those that it depends on. Readers of trace formats (spec/trace) make one, a
// Player (player.h) plays it on a cluster, and writers turn it into files again.
//
// Ranks that do the same share a program. So that they can, an operation names a communicator and
// not a group of ranks: a communicator consists of several groups, and each rank takes part in the
// group that it is a member of. For example, all tensor-parallel groups are one communicator.

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/units.h"

namespace softib::plan::trace {

inline constexpr std::uint32_t kNone = UINT32_MAX;
inline constexpr std::uint32_t kAnyRank = UINT32_MAX;  ///< A receive takes from any sender.
inline constexpr std::uint32_t kAnyTag = UINT32_MAX;
inline constexpr std::uint32_t kRanksMax = 1U << 20;

enum class Kind : std::uint8_t { kCompute, kSend, kRecv, kCollective };
inline constexpr std::array kKinds{Kind::kCompute, Kind::kSend, Kind::kRecv, Kind::kCollective};
const char* to_string(Kind kind);

/// Collective operations, with the numbers of Chakra's CollectiveCommType.
enum class Collective : std::uint8_t {
    kAllReduce,
    kReduce,
    kAllGather,
    kGather,
    kScatter,
    kBroadcast,
    kAllToAll,
    kReduceScatter,
    kReduceScatterBlock,
    kBarrier,
};
inline constexpr std::array kCollectives{
    Collective::kAllReduce, Collective::kReduce,        Collective::kAllGather,
    Collective::kGather,    Collective::kScatter,       Collective::kBroadcast,
    Collective::kAllToAll,  Collective::kReduceScatter, Collective::kReduceScatterBlock,
    Collective::kBarrier};
const char* to_string(Collective collective);  ///< "all-reduce"

struct Operation {
    Kind kind = Kind::kCompute;
    Collective collective = Collective::kAllReduce;
    std::uint8_t lane = 0;   ///< Computations of a rank that have the same lane run one at a time.
    bool rings = false;      ///< Collective: by a ring, whatever NCCL would take.
    std::uint32_t name = 0;  ///< Position in Job::names.
    /// Message: the other rank. Collective: the root's number in its group.
    std::uint32_t peer = 0;
    std::uint32_t tag = 0;           ///< Message: its tag.
    std::uint32_t communicator = 0;  ///< Collective: its communicator.
    /// All-to-all with unequal parts: position in Program::splits of the first part.
    std::uint32_t splits = kNone;
    /// Bytes of a message, or of a collective operation as nccl-tests counts them: for an
    /// all-gather and a gather its result; for a reduce-scatter, a scatter and an all-to-all its
    /// input.
    std::uint64_t bytes = 0;
    TimePs compute_ps = 0;
};

/// What an operation waits for in another one: its end, or its start.
enum class Waits : std::uint8_t {
    kForEnd,    ///< GOAL's requires
    kForStart,  ///< GOAL's irequires
};
struct Dependency {
    std::uint32_t on = 0;  ///< Operation of the same program that is waited for.
    Waits waits = Waits::kForEnd;
    friend bool operator==(const Dependency&, const Dependency&) = default;
};
/// A dependency, and the operation that has it.
struct Edge {
    std::uint32_t operation = 0;
    Dependency dependency = {};
};

/// The operations of a rank and their dependencies.
class Program {
  public:
    std::uint32_t add(const Operation& operation) {
        operations_.push_back(operation);
        return static_cast<std::uint32_t>(operations_.size() - 1);
    }
    /// Returns the number of the operation that the next add() makes.
    std::uint32_t next() const { return static_cast<std::uint32_t>(operations_.size()); }
    void depend(std::uint32_t operation, std::uint32_t on, Waits waits = Waits::kForEnd) {
        edges_.push_back({operation, {on, waits}});
    }
    const std::vector<Operation>& operations() const { return operations_; }
    std::vector<Operation>& operations() { return operations_; }
    const std::vector<Edge>& edges() const { return edges_; }
    void forget_dependencies() { edges_.clear(); }
    /// Bytes that all-to-all operations with unequal parts send to each member of their group, one
    /// operation after the other; Operation::splits is the position of the first.
    std::vector<std::uint64_t> splits = {};

  private:
    std::vector<Operation> operations_ = {};
    std::vector<Edge> edges_ = {};
};

/// The dependencies of a program, by operation.
class Links {
  public:
    /// `backwards`: Dependency::on of each entry is an operation that waits, instead of one that is
    /// waited for.
    Links(std::uint32_t operations, std::span<const Edge> edges, bool backwards);
    /// Returns the dependencies of an operation.
    std::span<const Dependency> of(std::uint32_t operation) const {
        return std::span(all_).subspan(begin_[operation],
                                       begin_[operation + 1] - begin_[operation]);
    }

  private:
    std::vector<std::uint32_t> begin_ = {};
    std::vector<Dependency> all_ = {};
};

/// Returns the operations in an order in which each follows those that it depends on, and otherwise
/// in the order of the program. The error is an operation that waits in a circle of dependencies.
std::expected<std::vector<std::uint32_t>, std::uint32_t> sorted(const Program& program);

struct Communicator {
    std::string name = {};
    std::vector<std::vector<std::uint32_t>> groups = {};  ///< Ranks of each group.
    std::vector<std::uint32_t> group_of = {};             ///< Group of each rank; kNone: in none.
};

struct Job {
    std::string name = {};
    std::vector<Program> programs = {};
    std::vector<std::uint32_t> program_of = {};  ///< Position in `programs` of each rank's program.
    std::vector<Communicator> communicators = {};
    std::vector<std::string> names = {""};  ///< Names of operations; the first is none.
    std::vector<std::string> notes = {};    ///< What its reader could not know, as sentences.

    std::uint32_t ranks() const { return static_cast<std::uint32_t>(program_of.size()); }
    const Program& program(std::uint32_t rank) const { return programs[program_of[rank]]; }
    /// Adds a name, unless it is among the last ones. Returns its position in `names`.
    std::uint32_t add_name(std::string_view name);
    /// Adds a communicator of these groups. Returns its number.
    std::uint32_t add_communicator(std::string name,
                                   std::vector<std::vector<std::uint32_t>> groups);
    /// Adds a communicator of one group with all ranks. Returns its number.
    std::uint32_t add_world();
};

/// Returns an operation in words: "send 8 bytes to rank 3, tag 2", with its name.
std::string describe(const Job& job, std::uint32_t rank, std::uint32_t operation);

/// Returns why a job cannot be played: a peer, a root or a group that does not exist, or a circle
/// of dependencies; std::nullopt if it can.
std::optional<std::string> find_fault(const Job& job);

/// Numbers and bytes of a job's operations, by kind and by collective operation. A collective
/// operation counts at each of its ranks.
struct Summary {
    std::uint64_t operations = 0;
    std::array<std::uint64_t, kKinds.size()> count = {};
    std::array<std::uint64_t, kKinds.size()> bytes = {};
    std::array<std::uint64_t, kCollectives.size()> collectives = {};
    std::array<std::uint64_t, kCollectives.size()> collective_bytes = {};
    TimePs compute_max = 0;  ///< Computing time of the rank that computes longest.
};
/// Counts the operations of all ranks.
Summary summarise(const Job& job);

}  // namespace softib::plan::trace
