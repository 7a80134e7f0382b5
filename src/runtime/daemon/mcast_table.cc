// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/mcast_table.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>

namespace softib::daemon {

namespace {

/// A write to a group, during which its sequence number is odd. A reader that sees an odd or
/// changed number copies the group again.
class GroupWrite {
  public:
    GroupWrite(const shm::Arena& arena, shm::McastGroup& group) : arena_(arena), group_(group) {
        group_.seq.fetch_add(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_release);
    }
    ~GroupWrite() {
        group_.seq.fetch_add(1, std::memory_order_release);
        arena_.header->mcast_generation.fetch_add(1, std::memory_order_release);
    }
    GroupWrite(const GroupWrite&) = delete;
    GroupWrite& operator=(const GroupWrite&) = delete;

  private:
    const shm::Arena& arena_;
    shm::McastGroup& group_;
};

template <typename T>
void store(T& place, T value) {
    std::atomic_ref<T>(place).store(value, std::memory_order_relaxed);
}

}  // namespace

McastTable::McastTable(const shm::Arena& arena) : arena_(arena), owners_(shm::kMcastGroupsMax) {}

shm::McastGroup* McastTable::find(const Gid& mgid, Lid mlid) const {
    for (std::uint32_t i = 0; i < shm::kMcastGroupsMax; ++i) {
        if (owners_[i].empty()) {
            continue;
        }
        shm::McastGroup& group = arena_.mcast[i];
        if (group.mlid == mlid.value &&
            std::memcmp(group.mgid, mgid.bytes.data(), sizeof group.mgid) == 0) {
            return &group;
        }
    }
    return nullptr;
}

shm::McastGroup* McastTable::find_unused() const {
    const auto unused = std::ranges::find_if(
        owners_, [](const std::vector<shm::Owner>& owners) { return owners.empty(); });
    return unused == owners_.end() ? nullptr : arena_.mcast + (unused - owners_.begin());
}

std::vector<shm::Owner>& McastTable::owners_of(const shm::McastGroup& group) {
    return owners_[static_cast<std::size_t>(&group - arena_.mcast)];
}

void McastTable::insert(shm::McastGroup& group, shm::Owner owner, Qpn qpn) {
    store(group.qpns[group.members], qpn.value);
    store(group.members, static_cast<std::uint16_t>(group.members + 1));
    owners_of(group).push_back(owner);
}

void McastTable::erase(shm::McastGroup& group, std::size_t member) {
    std::vector<shm::Owner>& owners = owners_of(group);
    const std::size_t last = group.members - std::size_t{1};
    const GroupWrite write(arena_, group);
    store(group.qpns[member], group.qpns[last]);
    store(group.members, static_cast<std::uint16_t>(last));
    owners[member] = owners[last];
    owners.pop_back();
}

int McastTable::attach(shm::Owner owner, Qpn qpn, const Gid& mgid, Lid mlid) {
    if (!mgid.is_multicast()) {
        return EINVAL;
    }
    shm::McastGroup* group = find(mgid, mlid);
    if (group == nullptr) {
        group = find_unused();
        if (group == nullptr) {
            return ENOMEM;
        }
        const GroupWrite write(arena_, *group);
        store(group->mlid, mlid.value);
        for (std::size_t i = 0; i < mgid.bytes.size(); ++i) {
            store(group->mgid[i], mgid.bytes[i]);
        }
        insert(*group, owner, qpn);
        return 0;
    }
    const std::span<const std::uint32_t> members(group->qpns, group->members);
    if (std::ranges::find(members, qpn.value) != members.end()) {
        return 0;
    }
    if (group->members == shm::kMcastMembersMax) {
        return ENOMEM;
    }
    const GroupWrite write(arena_, *group);
    insert(*group, owner, qpn);
    return 0;
}

int McastTable::detach(shm::Owner owner, Qpn qpn, const Gid& mgid, Lid mlid) {
    shm::McastGroup* const group = find(mgid, mlid);
    if (group == nullptr) {
        return EINVAL;
    }
    const std::vector<shm::Owner>& owners = owners_of(*group);
    for (std::size_t i = 0; i < group->members; ++i) {
        if (group->qpns[i] == qpn.value && owners[i] == owner) {
            erase(*group, i);
            return 0;
        }
    }
    return EINVAL;
}

void McastTable::drop_owner(shm::Owner owner) {
    for (std::uint32_t g = 0; g < shm::kMcastGroupsMax; ++g) {
        for (std::size_t i = owners_[g].size(); i-- > 0;) {
            if (owners_[g][i] == owner) {
                erase(arena_.mcast[g], i);
            }
        }
    }
}

}  // namespace softib::daemon
