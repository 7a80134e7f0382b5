// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory of one SHARP group, as the daemon has it. The daemon makes it, passes it to every
// member, reads its counters, and marks it when the job has failed.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/sharp/error.h"
#include "core/sharp/tree_walk.h"
#include "runtime/sharp/group_memory.h"
#include "runtime/shm/arena.h"

namespace softib::daemon {

class GroupFile {
  public:
    /// Makes the memory for the members of a tree; with `packets` for the packet path. Returns
    /// std::nullopt with errno on failure.
    static std::optional<GroupFile> make(sharp::WalkedTree tree, std::uint32_t members,
                                         std::uint32_t payload_bytes, bool packets);
    GroupFile(GroupFile&& other) noexcept;
    GroupFile& operator=(GroupFile&&) = delete;
    ~GroupFile();

    /// Returns a new descriptor of the memory, for a member, or -1 with errno.
    int share() const;
    /// Marks the job as failed, which all members see at once. The first error stays: members that
    /// end because of it are not the reason for the others.
    void fail(sharp::Error error);
    /// Adds what members have counted since the last call to the totals of all ports of the tree.
    void settle(const shm::Arena& arena);

  private:
    struct Count {
        std::uint64_t packets = 0;
        std::uint64_t words = 0;

        void add(const sharp::WireCount& counter);
    };
    /// What passed a cable towards the root (up) and away from it (down).
    struct Passed {
        Count up;
        Count down;
    };

    GroupFile() = default;
    const sharp::MemberLine* lines() const;
    /// Returns what passed every cable between switches alike.
    Passed passed_everywhere() const;
    /// Returns what passed the cable of one edge.
    Passed passed(const sharp::Edge& edge, const Passed& everywhere) const;

    sharp::WalkedTree tree_;
    std::vector<Passed> settled_;  ///< What is in the port totals, by edge.
    std::uint32_t members_ = 0;
    int file_ = -1;
    sharp::GroupHeader* header_ = nullptr;  ///< The mapping, which ends before the slots.
    std::uint64_t mapped_bytes_ = 0;
};

}  // namespace softib::daemon
