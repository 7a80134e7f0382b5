// SPDX-License-Identifier: BSD-2-Clause
// What the SA does without a request: it reports to subscribers, ends leases, and tells its manager
// of changed groups.
#include <algorithm>

#include "core/sm/sa/subnet_admin.h"

namespace softib::sm {

void SubnetAdmin::handle_timeout(std::uint64_t now_ns) {
    services_.handle_timeout(now_ns);
    reports_.handle_timeout(now_ns);
}

std::uint64_t SubnetAdmin::next_timeout_ns() const {
    return std::min(services_.next_timeout_ns(), reports_.next_timeout_ns());
}

/// Returns a notice whose producer is the SA, as a class manager (IBA vol. 1, 14.2.5.1).
SaNotice SubnetAdmin::own_notice(std::uint16_t trap, const Gid& about,
                                 std::vector<PKey> partitions) const {
    constexpr std::uint32_t kClassManager = 4;
    SaNotice told{.notice = {.notice = {.type = wire::NoticeType::kInformational,
                                        .producer_type = kClassManager,
                                        .trap_number = trap}},
                  .partitions = std::move(partitions)};
    told.notice.notice.set_details(wire::GidTrap{about});
    if (const std::optional<EndPort> own = subnet_.by_port_guid(config_.port_guid)) {
        told.notice.notice.issuer_lid = base_lid(subnet_, *own);
        told.notice.issuer_gid = gid_of(subnet_, *own);
    }
    return told;
}

void SubnetAdmin::report_trap(const wire::Notice& trap, std::uint64_t now_ns) {
    SaNotice told{.notice = {.notice = trap}, .partitions = {}};
    if (const std::optional<EndPort> issuer = subnet_.by_lid(trap.issuer_lid)) {
        told.notice.issuer_gid = gid_of(subnet_, *issuer);
        const std::span<const PKey> keys = pkeys_of(subnet_, *issuer);
        told.partitions.assign(keys.begin(), keys.end());
    }
    tell(told, now_ns);
}

void SubnetAdmin::report_port(const Gid& gid, bool in_service, std::vector<PKey> partitions,
                              std::uint64_t now_ns) {
    tell(own_notice(in_service ? wire::trap::kGidInService : wire::trap::kGidOutOfService, gid,
                    std::move(partitions)),
         now_ns);
}

void SubnetAdmin::tell(const SaNotice& notice, std::uint64_t now_ns) {
    subscriptions_.for_each_listener(subnet_, notice, [&](const auto& subscription) {
        reports_.send(subscription, notice.notice, now_ns);
    });
}

/// Tells subscribers which groups were created and deleted, and the manager which MLIDs changed.
void SubnetAdmin::settle_groups(std::uint64_t now_ns) {
    while (const auto event = multicast_.poll_event()) {
        changed_mlids_.insert(event->mlid);
        if (event->kind == SaMulticast::Event::kMembersChanged) {
            continue;
        }
        const std::uint16_t trap = event->kind == SaMulticast::Event::kCreated
                                       ? wire::trap::kMulticastGroupCreated
                                       : wire::trap::kMulticastGroupDeleted;
        tell(own_notice(trap, event->mgid, {event->pkey}), now_ns);
    }
}

void SubnetAdmin::forget_port(const Gid& gid, std::uint64_t now_ns) {
    const Guid guid = gid.interface_id();
    ++revision_;
    multicast_.remove_port(gid);
    if (const auto aliases = guids_.all().find(guid); aliases != guids_.all().end()) {
        for (const Guid alias : aliases->second) {
            multicast_.remove_port(Gid::from(gid.subnet_prefix(), alias));
        }
    }
    services_.remove_port(guid);
    subscriptions_.remove_port(guid);
    reports_.remove_port(guid);
    settle_groups(now_ns);
}

std::expected<Lid, SaStatus> SubnetAdmin::add_group(const wire::McMemberRecord& group,
                                                    std::uint64_t now_ns) {
    ++revision_;
    const auto mlid = multicast_.add_permanent(group);
    settle_groups(now_ns);
    return mlid;
}

std::optional<Lid> SubnetAdmin::poll_changed_mlid() {
    if (changed_mlids_.empty()) {
        return std::nullopt;
    }
    return changed_mlids_.extract(changed_mlids_.begin()).value();
}

std::vector<SubnetAdmin::GroupMember> SubnetAdmin::members_of(Lid mlid) const {
    constexpr std::uint8_t kReceives = wire::kJoinFullMember | wire::kJoinNonMember;
    std::vector<GroupMember> members;
    for (const auto& [mgid, group] : multicast_.groups()) {
        if (group.common.mlid != mlid) {
            continue;
        }
        for (const auto& [gid, member] : group.members) {
            const std::optional<EndPort> port = find_port(subnet_, guids_, gid);
            if (!port) {
                continue;
            }
            const bool receives = (member.join_state & kReceives) != 0;
            // Several groups may have the MLID, and several GIDs the port.
            const auto known = std::ranges::find_if(
                members, [&](const GroupMember& other) { return same(other.port, *port); });
            if (known == members.end()) {
                members.push_back({*port, receives});
            } else {
                known->receives = known->receives || receives;
            }
        }
    }
    return members;
}

}  // namespace softib::sm
