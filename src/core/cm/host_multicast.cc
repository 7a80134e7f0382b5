// SPDX-License-Identifier: BSD-2-Clause
// Membership in multicast groups. Ports are members, not endpoints: a port leaves a group with the
// last of its endpoints that joined.
#include <algorithm>
#include <cerrno>

#include "core/cm/address.h"
#include "core/cm/host.h"

namespace softib::cm {

int Host::join(const Id& id, const Command& command, Reply& reply, std::uint64_t now_ns) {
    const Address group = plain(command.destination);
    if (!id.has_port || id.type != QpType::kUd || command.option > 1) {
        return EINVAL;
    }
    if (!is_any(group) && !is_multicast(group)) {
        return EINVAL;
    }
    if (joins_.size() >= kJoinsMax) {
        return ENOBUFS;
    }
    do {
        ++last_join_;
    } while (last_join_ == 0 || joins_.contains(last_join_));
    Join& join = joins_[last_join_];
    join.id = id.handle;
    join.port = id.route.port;
    join.join_state = command.option == 1 ? wire::kJoinSendOnlyFullMember : wire::kJoinFullMember;
    join.member.mgid = multicast_gid(group, id.space, id.route.path.pkey);
    join.member.port_gid = surroundings_.port(join.port).gid;
    join.member.qkey = kUdpQKey;
    join.member.pkey = id.route.path.pkey;
    join.member.join_state = join.join_state;
    join.query = sa_.join(join.port, join.member, now_ns);
    by_join_query_[join.query] = last_join_;
    reply.id = last_join_;
    return 0;
}

void Host::take_member(IdHandle handle, const SaAnswer& answer) {
    Join& join = joins_.at(handle);
    join.query = 0;
    Event out{.type = EventType::kMulticastError, .id = join.id, .join = handle};
    if (answer.timed_out || answer.status != 0) {
        out.status = answer.timed_out ? -ETIMEDOUT : -EINVAL;
        report(out);
        return;
    }
    const wire::McMemberRecord& member = answer.member;
    join.joined = true;
    join.member = member;
    join.member.port_gid = surroundings_.port(join.port).gid;
    out.type = EventType::kMulticastJoin;
    out.parameters.qpn = kQpnMulticast;
    out.parameters.qkey = member.qkey;
    Route route;
    route.port = join.port;
    route.path.dgid = member.mgid;
    route.path.dlid = member.mlid;
    route.path.sl = member.sl;
    route.path.rate = member.rate;
    route.path.hop_limit = member.hop_limit;
    route.path.tclass = member.tclass;
    route.path.flow_label = member.flow_label;
    out.destination = destination_of(route, surroundings_.port(join.port));
    report(out);
}

void Host::leave(std::map<IdHandle, Join>::iterator at, std::uint64_t now_ns) {
    Join join = at->second;
    joins_.erase(at);
    if (join.query != 0) {
        by_join_query_.erase(join.query);
        sa_.forget(join.query);
        join.joined = true;  // The answer may be under way, so it must leave in any case.
    }
    const bool shared = std::ranges::any_of(joins_, [&](const auto& other) {
        return other.second.port == join.port && other.second.member.mgid == join.member.mgid &&
               other.second.join_state == join.join_state;
    });
    if (join.joined && !shared && join.member.mgid != Gid{}) {
        join.member.join_state = join.join_state;
        // No endpoint waits for the answer.
        sa_.leave(join.port, join.member, now_ns);
    }
}

int Host::leave(IdHandle handle, const Id& id, std::uint64_t now_ns) {
    const auto found = joins_.find(handle);
    if (found == joins_.end() || found->second.id != id.handle) {
        return EADDRNOTAVAIL;
    }
    leave(found, now_ns);
    std::erase_if(events_, [handle](const Event& event) {
        return event.join == handle && (event.type == EventType::kMulticastJoin ||
                                        event.type == EventType::kMulticastError);
    });
    return 0;
}

}  // namespace softib::cm
