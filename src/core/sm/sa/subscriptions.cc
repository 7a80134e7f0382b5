// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/subscriptions.h"

#include "core/wire/sa/inform_info_record.h"

namespace softib::sm {

namespace {

using wire::InformInfo;
using wire::InformInfoRecord;
namespace status = wire::sa_status;

constexpr std::uint32_t kProducerAll = 0xFFFFFF;

bool is_security(std::uint16_t trap) {
    return trap >= wire::trap::kBadMKey && trap <= wire::trap::kBadPKeyAtSwitch;
}

/// Returns whether two subscriptions ask for the same notices.
bool same_question(const InformInfo& a, const InformInfo& b) {
    return a.gid == b.gid && a.lid_range_begin == b.lid_range_begin &&
           a.lid_range_end == b.lid_range_end && a.is_generic == b.is_generic && a.type == b.type &&
           a.trap_number == b.trap_number && a.producer_type == b.producer_type;
}

/// Returns whether a requester may subscribe: it must share a partition with every port whose
/// notices it asks for. If it asks for those of all ports, each notice is checked when it comes
/// (IBA vol. 1, o13-14.1.1).
bool may_ask(const SaQuery& query, const InformInfo& asked) {
    if (asked.gid != Gid{}) {
        const auto port = query.subnet.by_port_guid(asked.gid.interface_id());
        return port && may_see(query, *port);
    }
    if (asked.lid_range_begin.value == wire::kInformAll) {
        return true;
    }
    const std::uint32_t highest = query.subnet.lid_max().value;
    const std::uint32_t begin = asked.lid_range_begin.value;
    const std::uint32_t end = std::min<std::uint32_t>(
        asked.lid_range_end.value == 0 ? begin : asked.lid_range_end.value, highest);
    if (begin > highest) {
        return false;
    }
    for (std::uint32_t lid = begin; lid <= end; ++lid) {
        const auto port = query.subnet.by_lid(Lid{static_cast<std::uint16_t>(lid)});
        if (port && !may_see(query, *port)) {
            return false;
        }
    }
    return true;
}

}  // namespace

SaStatus SaSubscriptions::handle_set(const SaQuery& query, SaTable& table) {
    const auto asked = query.record<InformInfo>();
    if (asked.subscribe > 1) {
        return status::kRequestInvalid;
    }
    const SaStatus result =
        asked.subscribe == 1 ? subscribe(query, asked) : unsubscribe(query, asked);
    if (result == wire::mad_status::kOk) {
        table.add(asked);
    }
    return result;
}

SaStatus SaSubscriptions::subscribe(const SaQuery& query, const InformInfo& asked) {
    // Only trusted requesters may subscribe to traps about wrong keys (IBA vol. 1, C15-0.2-1.16).
    if (!query.requester.trusted && asked.is_generic != 0 && is_security(asked.trap_number)) {
        return status::kRequestInvalid;
    }
    if (!may_ask(query, asked)) {
        return status::kRequestInvalid;
    }
    const SubnetPort& port = query.subnet.port(query.requester.port);
    const auto entry = by_port_.find(port.guid);
    if (entry == by_port_.end() && count_ >= limits_.subscriptions_max) {
        return status::kNoResources;
    }
    auto& own = entry == by_port_.end() ? by_port_[port.guid] : entry->second;
    const auto found = std::ranges::find_if(own, [&](const Subscription& s) {
        return s.qp == query.requester.qp && same_question(s.info, asked);
    });
    if (found != own.end()) {
        found->info = asked;
        found->info.qpn = query.requester.qp;
        found->trusted = query.requester.trusted;
        return wire::mad_status::kOk;
    }
    if (count_ >= limits_.subscriptions_max || own.size() >= limits_.subscriptions_per_client_max) {
        return status::kNoResources;
    }
    Subscription subscription{.port = port.guid,
                              .gid = gid_of(query.subnet, query.requester.port),
                              .qp = query.requester.qp,
                              .trusted = query.requester.trusted,
                              .info = asked};
    subscription.info.qpn = query.requester.qp;
    while (std::ranges::any_of(
        own, [&](const Subscription& s) { return s.enumeration == subscription.enumeration; })) {
        ++subscription.enumeration;
    }
    own.push_back(subscription);
    ++count_;
    return wire::mad_status::kOk;
}

/// Ends a subscription. The request names the QP that subscribed, since another QP may send it (IBA
/// vol. 1, o13-2.1.1).
SaStatus SaSubscriptions::unsubscribe(const SaQuery& query, const InformInfo& asked) {
    const auto own = by_port_.find(query.subnet.port(query.requester.port).guid);
    if (own == by_port_.end()) {
        return status::kRequestInvalid;
    }
    const Qpn qp = asked.qpn == Qpn{0} ? query.requester.qp : asked.qpn;
    const std::size_t removed = std::erase_if(own->second, [&](const Subscription& s) {
        return s.qp == qp && same_question(s.info, asked);
    });
    count_ -= removed;
    if (own->second.empty()) {
        by_port_.erase(own);
    }
    return removed == 0 ? status::kRequestInvalid : wire::mad_status::kOk;
}

SaStatus SaSubscriptions::handle_get(const SaQuery& query, SaTable& table) const {
    const auto asked = query.record<InformInfoRecord>();
    for (const auto& [guid, subscriptions] : by_port_) {
        const std::optional<EndPort> port = query.subnet.by_port_guid(guid);
        if (!port || !may_see(query, *port)) {
            continue;
        }
        for (const Subscription& subscription : subscriptions) {
            InformInfoRecord record{.subscriber_gid = subscription.gid,
                                    .enumeration = subscription.enumeration,
                                    .inform_info = subscription.info};
            if (!query.requester.trusted) {
                record.inform_info.qpn = Qpn{0};
            }
            if (wire::matches(asked, record, query.components)) {
                table.add(record);
            }
        }
    }
    return wire::mad_status::kOk;
}

/// Returns whether a subscription asks for a notice. A field of zero or all ones means any value
/// (IBA vol. 1, 13.4.8.3).
bool SaSubscriptions::wants(const Subscription& subscription, const wire::GmpNotice& told) {
    const InformInfo& info = subscription.info;
    const wire::Notice& notice = told.notice;
    if (info.gid != Gid{}) {
        if (info.gid != told.issuer_gid) {
            return false;
        }
    } else if (info.lid_range_begin.value != wire::kInformAll) {
        const Lid end = info.lid_range_end == Lid{0} ? info.lid_range_begin : info.lid_range_end;
        if (notice.issuer_lid < info.lid_range_begin || notice.issuer_lid > end) {
            return false;
        }
    }
    return (info.is_generic != 0) == notice.is_generic &&
           (info.type == wire::kInformAll || info.type == static_cast<unsigned>(notice.type)) &&
           (info.trap_number == wire::kInformAll || info.trap_number == notice.trap_number) &&
           (info.producer_type == kProducerAll || info.producer_type == notice.producer_type);
}

bool SaSubscriptions::may_hear(const Subnet& subnet, const Subscription& subscription,
                               const SaNotice& notice) {
    const std::optional<EndPort> port = subnet.by_port_guid(subscription.port);
    if (!port) {
        return false;
    }
    if (subscription.trusted) {
        return true;
    }
    const wire::Notice& told = notice.notice.notice;
    if (told.is_generic && is_security(told.trap_number)) {
        return false;
    }
    const std::span<const PKey> own = pkeys_of(subnet, *port);
    return notice.partitions.empty() || share_partition(own, notice.partitions);
}

void SaSubscriptions::remove_port(Guid port) {
    const auto own = by_port_.find(port);
    if (own != by_port_.end()) {
        count_ -= own->second.size();
        by_port_.erase(own);
    }
}

void SaSubscriptions::restore(const Subscription& subscription) {
    by_port_[subscription.port].push_back(subscription);
    ++count_;
}

}  // namespace softib::sm
