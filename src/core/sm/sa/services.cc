// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/services.h"

#include <vector>

#include "core/base/time_units.h"

namespace softib::sm {

namespace {

using wire::ServiceRecord;
namespace status = wire::sa_status;

constexpr std::uint64_t kId = wire::component(&ServiceRecord::service_id);
constexpr std::uint64_t kGid = wire::component(&ServiceRecord::service_gid);
constexpr std::uint64_t kPKey = wire::component(&ServiceRecord::service_pkey);
constexpr std::uint64_t kLease = wire::component(&ServiceRecord::service_lease);
constexpr std::uint64_t kKey = wire::component(&ServiceRecord::service_key);

bool is_zero(const std::array<std::uint8_t, 16>& key) {
    return std::ranges::all_of(key, [](std::uint8_t byte) { return byte == 0; });
}

SaServices::Key key_of(const ServiceRecord& record) {
    return {record.service_id, record.service_gid, record.service_pkey};
}

/// Returns the rest of a service's lease, rounded up to seconds.
std::uint32_t lease_left(const SaServices::Service& service, std::uint64_t now_ns) {
    if (service.expires_ns == SaServices::kNever) {
        return wire::kServiceLeaseInfinite;
    }
    return static_cast<std::uint32_t>((service.expires_ns - now_ns + kNsPerSecond - 1) /
                                      kNsPerSecond);
}

}  // namespace

/// Checks that a requester may register a service: the service's GID is that of the requester's own
/// port, and this port is in the service's partition (IBA vol. 1, C15-0.1.13). A trusted requester
/// may name another port of the subnet. Only the GUID of the GID counts, since some programs write
/// the prefix in the wrong byte order.
SaStatus SaServices::check_rights(const SaQuery& query, const ServiceRecord& asked) const {
    const std::span<const PKey> own = pkeys_of(query.subnet, query.requester.port);
    if (query.has(kPKey) && !query.requester.trusted && !in_partition(own, asked.service_pkey)) {
        return status::kRequestInvalid;
    }
    if (asked.service_gid.is_multicast()) {
        return wire::mad_status::kOk;
    }
    const std::optional<EndPort> port = find_port_(asked.service_gid.interface_id());
    if (!port) {
        return status::kInvalidGid;
    }
    if (query.has(kPKey) && !in_partition(pkeys_of(query.subnet, *port), asked.service_pkey)) {
        return status::kRequestInvalid;
    }
    return query.requester.trusted || same(*port, query.requester.port) ? wire::mad_status::kOk
                                                                        : status::kRequestDenied;
}

SaStatus SaServices::handle_set(const SaQuery& query, SaTable& table) {
    handle_timeout(query.now_ns);
    if (!query.has(kId | kGid)) {
        return status::kInsufficientComponents;
    }
    auto asked = query.record<ServiceRecord>();
    if (!query.has(kPKey)) {
        asked.service_pkey = PKey{0};  // The service is in no particular partition.
    }
    if (!query.has(kKey)) {
        asked.service_key = {};
    }
    if (!query.has(kLease)) {
        asked.service_lease = wire::kServiceLeaseInfinite;
    }
    if (const SaStatus wrong = check_rights(query, asked); wrong != wire::mad_status::kOk) {
        return wrong;
    }
    const Guid owner = query.subnet.port(query.requester.port).guid;
    const auto found = services_.find(key_of(asked));
    if (found != services_.end()) {
        if (!may_change(query, found->second, asked)) {
            return status::kRequestDenied;
        }
        erase(found);
    } else {
        const auto count = per_owner_.find(owner.value);
        if (services_.size() >= limits_.services_max ||
            (count != per_owner_.end() && count->second >= limits_.services_per_client_max)) {
            return status::kNoResources;
        }
    }
    const bool forever = asked.service_lease == wire::kServiceLeaseInfinite;
    const Service service{
        .record = asked,
        .owner = owner,
        .expires_ns = forever ? kNever : query.now_ns + asked.service_lease * kNsPerSecond};
    insert(service);
    Service shown = service;
    if (!query.has(kPKey)) {
        shown.record.service_pkey = kPKeyDefaultFull;
    }
    show(query, shown, table);
    return wire::mad_status::kOk;
}

SaStatus SaServices::handle_get(const SaQuery& query, SaTable& table) {
    handle_timeout(query.now_ns);
    const auto asked = query.record<ServiceRecord>();
    for_each_match(query, asked, [&](Services::iterator at) { show(query, at->second, table); });
    return wire::mad_status::kOk;
}

SaStatus SaServices::handle_delete(const SaQuery& query, SaTable& table) {
    handle_timeout(query.now_ns);
    const auto asked = query.record<ServiceRecord>();
    std::vector<Services::iterator> found;
    bool denied = false;
    for_each_match(query, asked, [&](Services::iterator at) {
        if (may_change(query, at->second, asked)) {
            found.push_back(at);
        } else {
            denied = true;
        }
    });
    if (found.size() != 1) {
        return found.size() > 1 ? status::kTooManyRecords
               : denied         ? status::kRequestDenied
                                : status::kNoRecords;
    }
    show(query, found[0]->second, table);
    erase(found[0]);
    return wire::mad_status::kOk;
}

template <typename Found>
void SaServices::for_each_match(const SaQuery& query, const ServiceRecord& asked, Found&& found) {
    const std::uint64_t components = query.components & ~kLease;
    auto at =
        query.has(kId) ? services_.lower_bound(Key{.id = asked.service_id}) : services_.begin();
    for (; at != services_.end() && (!query.has(kId) || at->first.id == asked.service_id); ++at) {
        if (wire::matches(asked, at->second.record, components) && visible(query, at->second)) {
            found(at);
        }
    }
}

/// Returns whether the requester may see a service: it must be in the service's partition or, if
/// the service has none, share a partition with its port. Trusted requesters see all.
bool SaServices::visible(const SaQuery& query, const Service& service) const {
    if (query.requester.trusted) {
        return true;
    }
    const PKey pkey = service.record.service_pkey;
    if (pkey != PKey{0}) {
        return in_partition(pkeys_of(query.subnet, query.requester.port), pkey);
    }
    const std::optional<EndPort> port = find_port_(service.owner);
    return port && may_see(query, *port);
}

bool SaServices::may_change(const SaQuery& query, const Service& service,
                            const ServiceRecord& asked) const {
    return query.requester.trusted ||
           service.owner == query.subnet.port(query.requester.port).guid ||
           (query.has(kKey) && !is_zero(asked.service_key) &&
            asked.service_key == service.record.service_key);
}

/// Adds a service's record to the table, with its ServiceKey only for trusted requesters (IBA vol.
/// 1, 15.2.5.14).
void SaServices::show(const SaQuery& query, const Service& service, SaTable& table) const {
    ServiceRecord record = service.record;
    record.service_lease = lease_left(service, query.now_ns);
    if (!query.requester.trusted) {
        record.service_key = {};
    }
    table.add(record);
}

void SaServices::insert(const Service& service) {
    const Key key = key_of(service.record);
    services_.insert_or_assign(key, service);
    ++per_owner_[service.owner.value];
    if (service.expires_ns != kNever) {
        expiries_.emplace(service.expires_ns, key);
    }
}

SaServices::Services::iterator SaServices::erase(Services::iterator at) {
    const auto [first, last] = expiries_.equal_range(at->second.expires_ns);
    for (auto entry = first; entry != last; ++entry) {
        if (entry->second == at->first) {
            expiries_.erase(entry);
            break;
        }
    }
    const auto count = per_owner_.find(at->second.owner.value);
    if (--count->second == 0) {
        per_owner_.erase(count);
    }
    return services_.erase(at);
}

void SaServices::handle_timeout(std::uint64_t now_ns) {
    while (!expiries_.empty() && expiries_.begin()->first <= now_ns) {
        erase(services_.find(expiries_.begin()->second));
    }
}

std::uint64_t SaServices::next_timeout_ns() const {
    return expiries_.empty() ? UINT64_MAX : expiries_.begin()->first;
}

void SaServices::remove_port(Guid owner) {
    for (auto at = services_.begin(); at != services_.end();) {
        at = at->second.owner == owner ? erase(at) : std::next(at);
    }
}

void SaServices::restore(const Service& service) {
    if (!services_.contains(key_of(service.record))) {
        insert(service);
    }
}

}  // namespace softib::sm
