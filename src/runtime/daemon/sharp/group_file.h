// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory of one SHARP group, as the daemon has it: made once, given to every member, read for
// its counters, and marked when the job has failed.

#include <cstdint>
#include <optional>
#include <vector>

#include "core/sharp/error.h"
#include "core/sharp/tree_walk.h"
#include "runtime/sharp/group_memory.h"
#include "runtime/shm/arena.h"

namespace softib::live {

class GroupFile {
  public:
    /// Makes the memory for the members of a tree. `packets`: for the packet path. Returns
    /// std::nullopt with errno if there is none.
    static std::optional<GroupFile> make(sharp::WalkedTree tree, std::uint32_t members,
                                         std::uint32_t payload_bytes, bool packets);
    GroupFile(GroupFile&& other) noexcept;
    GroupFile& operator=(GroupFile&&) = delete;
    ~GroupFile();

    /// Returns a descriptor of its own for a member, or -1 with errno.
    int share() const;
    /// All members see it at once. The first error stays: members that end because of it are not
    /// why the others end.
    void fail(sharp::Error error);
    /// Adds what members counted since the last time to the totals of all ports of the tree.
    void settle(const Arena& arena);

  private:
    struct Count {
        std::uint64_t packets = 0;
        std::uint64_t words = 0;

        void add(const WireCount& counter);
    };
    /// What passed a cable up and down.
    struct Passed {
        Count up;
        Count down;
    };

    GroupFile() = default;
    const MemberLine* lines() const;
    /// What passed every cable between switches.
    Passed passed_everywhere() const;
    Passed passed(const sharp::Edge& edge, const Passed& everywhere) const;

    sharp::WalkedTree tree_;
    std::vector<Passed> settled_;  ///< By edge.
    std::uint32_t members_ = 0;
    int file_ = -1;
    GroupHeader* header_ = nullptr;  ///< Mapped with what is before the slots.
    std::uint64_t mapped_bytes_ = 0;
};

}  // namespace softib::live
