// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The multicast groups of an arena, written by the daemon alone. Senders read a group without
// asking: its sequence number is odd while it changes (seqlock), and the arena's
// mcast_generation moves after every change. Which process attached a member is known only here.

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "runtime/shm/arena.h"

namespace softib::live {

class McastTable {
  public:
    explicit McastTable(const Arena& arena);

    /// Both return 0 or an errno value. Attaching a member again changes nothing, as in the
    /// kernel's uverbs; detaching what is not attached is EINVAL.
    int attach(Owner owner, Qpn qpn, const Gid& mgid, Lid mlid);
    int detach(Owner owner, Qpn qpn, const Gid& mgid, Lid mlid);

    /// Drops every member that this process attached.
    void drop_owner(Owner owner);

  private:
    McastGroup* find(const Gid& mgid, Lid mlid) const;
    McastGroup* find_unused() const;
    void insert(McastGroup& group, Owner owner, Qpn qpn);
    void erase(McastGroup& group, std::size_t member);
    std::vector<Owner>& owners_of(const McastGroup& group);

    const Arena& arena_;
    std::vector<std::vector<Owner>> owners_;  ///< By group, parallel to McastGroup::qpns.
};

}  // namespace softib::live
