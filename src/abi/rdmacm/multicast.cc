// SPDX-License-Identifier: BSD-2-Clause
// Multicast groups: the connection manager joins the port to a group, and we attach the queue pair.
#include <cerrno>
#include <cstring>
#include <new>

#include "abi/rdmacm/convert.h"
#include "abi/rdmacm/id.h"

namespace softib::abi::rdmacm {

Group* find_group(Endpoint& id, cm::IdHandle join) {
    const std::lock_guard guard(id.mutex);
    Group* group = id.groups;
    while (group != nullptr && group->join != join) {
        group = group->next;
    }
    return group;
}

void free_groups(Endpoint& id) {
    while (id.groups != nullptr) {
        Group* const group = id.groups;
        id.groups = group->next;
        delete group;
    }
}

int attach(Endpoint& id, Group& group, const ibv_ah_attr& to) {
    group.mgid = to.grh.dgid;
    group.mlid = to.dlid;
    if (id.id.qp == nullptr || group.sends_only) {
        return 0;
    }
    const int error = ibv_attach_mcast(id.id.qp, &group.mgid, group.mlid);
    group.attached = error == 0;
    return checked(error);
}

namespace {

int join(rdma_cm_id* id, const sockaddr* addr, bool sends_only, void* context) {
    const socklen_t bytes = address_bytes(addr);
    if (bytes == 0) {
        return fail(EINVAL);
    }
    Endpoint& endpoint = id_of(id);
    auto* const group = new (std::nothrow) Group;
    if (group == nullptr) {
        return fail(ENOMEM);
    }
    group->sends_only = sends_only;
    group->context = context;
    std::memcpy(&group->address, addr, bytes);
    cm::Command command = command_of(cm::Operation::kJoin, endpoint.handle);
    command.destination = from_sockaddr(addr);
    command.option = sends_only ? 1 : 0;
    {
        // Locked, because the event may come before this call returns: the thread that takes the
        // event must find the group's handle.
        const std::lock_guard guard(endpoint.mutex);
        cm::Reply reply;
        if (!execute(command, reply)) {
            const int error = errno;
            delete group;
            return fail(error);
        }
        group->join = reply.id;
        group->next = endpoint.groups;
        endpoint.groups = group;
    }
    return complete(endpoint);
}

}  // namespace

}  // namespace softib::abi::rdmacm

using namespace softib;
using namespace softib::abi::rdmacm;

extern "C" {

int rdma_join_multicast(rdma_cm_id* id, sockaddr* addr, void* context) {
    return join(id, addr, false, context);
}

int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* mc_join_attr, void* context) {
    if (mc_join_attr->comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED) {
        return fail(ENOTSUP);
    }
    constexpr std::uint32_t kNeeded =
        RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    if ((mc_join_attr->comp_mask & kNeeded) != kNeeded ||
        mc_join_attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) {
        return fail(EINVAL);
    }
    return join(id, mc_join_attr->addr,
                mc_join_attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context);
}

int rdma_leave_multicast(rdma_cm_id* id, sockaddr* addr) {
    const socklen_t bytes = address_bytes(addr);
    if (bytes == 0) {
        return fail(EINVAL);
    }
    Endpoint& endpoint = id_of(id);
    Group* group = nullptr;
    {
        const std::lock_guard guard(endpoint.mutex);
        for (Group** at = &endpoint.groups; *at != nullptr; at = &(*at)->next) {
            if (std::memcmp(&(*at)->address, addr, bytes) == 0) {
                group = *at;
                *at = group->next;
                break;
            }
        }
    }
    if (group == nullptr) {
        return fail(EADDRNOTAVAIL);
    }
    if (group->attached && id->qp != nullptr) {
        ibv_detach_mcast(id->qp, &group->mgid, group->mlid);
    }
    cm::Command leave = command_of(cm::Operation::kLeave, endpoint.handle);
    leave.value = group->join;
    delete group;
    cm::Reply reply;
    return execute(leave, reply) ? 0 : -1;
}

}  // extern "C"
