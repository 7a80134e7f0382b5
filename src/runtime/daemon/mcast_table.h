// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The multicast groups of an arena, which only the daemon writes. Senders read a group without a
// lock: its sequence number is odd while it changes (seqlock), and the arena's mcast_generation
// grows after every change. Only this table knows which process attached a member.

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "runtime/shm/arena.h"

namespace softib::daemon {

class McastTable {
  public:
    explicit McastTable(const shm::Arena& arena);

    /// Attaches a queue pair to a group. Returns 0 or an errno value; 0, with nothing changed, if
    /// the queue pair is attached already, as in the kernel's uverbs.
    int attach(shm::Owner owner, Qpn qpn, const Gid& mgid, Lid mlid);
    /// Detaches a queue pair from a group. Returns 0, or EINVAL if this process has not attached
    /// it.
    int detach(shm::Owner owner, Qpn qpn, const Gid& mgid, Lid mlid);

    /// Removes every member that this process attached.
    void drop_owner(shm::Owner owner);

  private:
    shm::McastGroup* find(const Gid& mgid, Lid mlid) const;
    shm::McastGroup* find_unused() const;
    void insert(shm::McastGroup& group, shm::Owner owner, Qpn qpn);
    void erase(shm::McastGroup& group, std::size_t member);
    std::vector<shm::Owner>& owners_of(const shm::McastGroup& group);

    const shm::Arena& arena_;
    std::vector<std::vector<shm::Owner>> owners_;  ///< For each group, the owners of its qpns.
};

}  // namespace softib::daemon
