// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A job as a trace: ranks that compute, send, receive and take part in collective operations, each
// operation after those that it depends on. Readers of trace formats (spec/trace) make one, a
// Player (player.h) plays it on a cluster, writers turn it into files again.
//
// Ranks that do the same share a program. For that an operation names a communicator and not a
// group: a communicator has a group for each rank that uses it, as every tensor-parallel group has
// one place in a program.

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
inline constexpr std::uint32_t kAnyRank = UINT32_MAX;  ///< A receive takes from whoever sends.
inline constexpr std::uint32_t kAnyTag = UINT32_MAX;
inline constexpr std::uint32_t kRanksMax = 1U << 20;

enum class Kind : std::uint8_t { kCompute, kSend, kRecv, kCollective };
inline constexpr std::array kKinds{Kind::kCompute, Kind::kSend, Kind::kRecv, Kind::kCollective};
const char* to_string(Kind kind);

/// In the numbers of Chakra's CollectiveCommType.
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
    std::uint8_t lane = 0;           ///< Computations of one lane run one at a time.
    bool rings = false;              ///< Collective: by a ring, whatever NCCL would take.
    std::uint32_t name = 0;          ///< Of Job::names.
    std::uint32_t peer = 0;          ///< Other rank, or the root's number in its group.
    std::uint32_t tag = 0;           ///< Of a message.
    std::uint32_t communicator = 0;  ///< Of a collective operation.
    std::uint32_t splits = kNone;    ///< All-to-all with parts that differ: the first of them.
    /// What a message has, or as nccl-tests counts: an all-gather and a gather by what they give, a
    /// reduce-scatter, a scatter and an all-to-all by what they take.
    std::uint64_t bytes = 0;
    TimePs compute_ps = 0;
};

enum class Waits : std::uint8_t {
    kForEnd,    ///< GOAL's requires
    kForStart,  ///< GOAL's irequires
};
struct Dependency {
    std::uint32_t on = 0;  ///< Another operation of the program.
    Waits waits = Waits::kForEnd;
    friend bool operator==(const Dependency&, const Dependency&) = default;
};
/// A dependency, and the operation that has it.
struct Edge {
    std::uint32_t operation = 0;
    Dependency dependency = {};
};

/// What a rank does.
class Program {
  public:
    std::uint32_t add(const Operation& operation) {
        operations_.push_back(operation);
        return static_cast<std::uint32_t>(operations_.size() - 1);
    }
    /// Operation that the next add() makes.
    std::uint32_t next() const { return static_cast<std::uint32_t>(operations_.size()); }
    void depend(std::uint32_t operation, std::uint32_t on, Waits waits = Waits::kForEnd) {
        edges_.push_back({operation, {on, waits}});
    }
    const std::vector<Operation>& operations() const { return operations_; }
    std::vector<Operation>& operations() { return operations_; }
    const std::vector<Edge>& edges() const { return edges_; }
    void forget_dependencies() { edges_.clear(); }
    /// What all-to-all operations send to each member of their group, as Operation::splits says.
    std::vector<std::uint64_t> splits = {};

  private:
    std::vector<Operation> operations_ = {};
    std::vector<Edge> edges_ = {};
};

/// The dependencies of a program, by operation.
class Links {
  public:
    Links(std::uint32_t operations, std::span<const Edge> edges, bool backwards);
    std::span<const Dependency> of(std::uint32_t operation) const {
        return std::span(all_).subspan(begin_[operation],
                                       begin_[operation + 1] - begin_[operation]);
    }

  private:
    std::vector<std::uint32_t> begin_ = {};
    std::vector<Dependency> all_ = {};
};

/// An order in which every operation stands behind those that it depends on, and otherwise as the
/// program has them. The error is an operation that depends on itself in a circle.
std::expected<std::vector<std::uint32_t>, std::uint32_t> sorted(const Program& program);

struct Communicator {
    std::string name = {};
    std::vector<std::vector<std::uint32_t>> groups = {};  ///< Ranks of each.
    std::vector<std::uint32_t> group_of = {};             ///< By rank; kNone: in none.
};

struct Job {
    std::string name = {};
    std::vector<Program> programs = {};
    std::vector<std::uint32_t> program_of = {};  ///< By rank.
    std::vector<Communicator> communicators = {};
    std::vector<std::string> names = {""};
    std::vector<std::string> notes = {};  ///< What its reader could not know.

    std::uint32_t ranks() const { return static_cast<std::uint32_t>(program_of.size()); }
    const Program& program(std::uint32_t rank) const { return programs[program_of[rank]]; }
    std::uint32_t add_name(std::string_view name);
    /// Adds a communicator of these groups. Returns its number.
    std::uint32_t add_communicator(std::string name,
                                   std::vector<std::vector<std::uint32_t>> groups);
    std::uint32_t add_world();
};

/// "send 8 bytes to rank 3, tag 2", with its name.
std::string describe(const Job& job, std::uint32_t rank, std::uint32_t operation);

/// Says what no player could play: a peer, a root or a group that does not exist, a circle.
std::optional<std::string> find_fault(const Job& job);

struct Summary {
    std::uint64_t operations = 0;
    std::array<std::uint64_t, kKinds.size()> count = {};
    std::array<std::uint64_t, kKinds.size()> bytes = {};
    std::array<std::uint64_t, kCollectives.size()> collectives = {};
    std::array<std::uint64_t, kCollectives.size()> collective_bytes = {};
    TimePs compute_max = 0;  ///< Of the rank that computes longest.
};
/// Over all ranks; a collective operation counts at each of its ranks.
Summary summarise(const Job& job);

}  // namespace softib::plan::trace
