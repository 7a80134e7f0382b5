// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa_multicast.h"

#include <algorithm>
#include <span>

#include "core/wire/sa.h"

namespace softib::sm {

namespace {

namespace mc = wire::mc_member;
namespace status = wire::sa_status;
using wire::Selector;

constexpr std::uint64_t kLeaveComponents = mc::kMgid | mc::kPortGid | mc::kJoinState;
/// Without these nobody can make a group (IBA vol. 1, C15-0.2.4); the rest has defaults.
constexpr std::uint64_t kCreateComponents =
    kLeaveComponents | mc::kQKey | mc::kPKey | mc::kTClass | mc::kSl | mc::kFlowLabel;
constexpr std::uint8_t kFullMembers = wire::kJoinFullMember | wire::kJoinSendOnlyFullMember;

constexpr std::uint8_t kLifeTimeDefault = 18;  // About 1 s.
constexpr std::uint8_t kScopeLinkLocal = 2;

// Encoded values in increasing order of what they mean.
constexpr std::uint8_t kMtus[] = {1, 2, 3, 4, 5};
constexpr std::uint8_t kRates[] = {2, 5,  3,  11, 6,  15, 19, 4,  7,  20, 12, 8,
                                   9, 16, 13, 10, 14, 17, 18, 21, 22, 23, 24};
using Scale = std::span<const std::uint8_t>;

std::ptrdiff_t rank(Scale scale, std::uint8_t code) {
    const auto found = std::ranges::find(scale, code);
    return found == scale.end() ? -1 : found - scale.begin();
}

bool satisfies(Scale scale, Selector selector, std::uint8_t asked, std::uint8_t value) {
    switch (selector) {
        case Selector::kGreaterThan:
            return rank(scale, value) > rank(scale, asked);
        case Selector::kLessThan:
            return rank(scale, value) < rank(scale, asked);
        case Selector::kExactly:
            return value == asked;
        case Selector::kBest:
            return true;
    }
    return false;
}

/// A value with its selector, if the request has both.
struct Wish {
    Scale scale;
    bool given;
    Selector selector;
    std::uint8_t value;

    bool allows(std::uint8_t actual) const {
        return !given || satisfies(scale, selector, value, actual);
    }
    /// The best that is allowed and that the port can do.
    std::optional<std::uint8_t> realize(std::uint8_t port) const {
        for (std::ptrdiff_t i = rank(scale, port); i >= 0; --i) {
            const std::uint8_t code = scale[static_cast<std::size_t>(i)];
            if (allows(code)) {
                return code;
            }
        }
        return std::nullopt;
    }
};

bool has(std::uint64_t components, std::uint64_t bits) {
    return (components & bits) == bits;
}

Wish mtu_wish(const wire::McMemberRecord& r, std::uint64_t components) {
    return {kMtus, has(components, mc::kMtuSelector | mc::kMtu), r.mtu_selector, r.mtu};
}

Wish rate_wish(const wire::McMemberRecord& r, std::uint64_t components) {
    return {kRates, has(components, mc::kRateSelector | mc::kRate), r.rate_selector, r.rate};
}

/// The members' partition, whatever kind of membership.
bool in_partition(const SaPort& port, PKey pkey) {
    return (pkey.value & 0x7FFF) != 0 && std::ranges::any_of(port.pkeys, [&](PKey own) {
               return ((own.value ^ pkey.value) & 0x7FFF) == 0;
           });
}

bool fits(const SaPort& port, const wire::McMemberRecord& group) {
    return in_partition(port, group.pkey) && rank(kMtus, port.mtu) >= rank(kMtus, group.mtu) &&
           rank(kRates, port.rate) >= rank(kRates, group.rate);
}

/// An MGID has 0xFF, then the flags 000T and a scope (IBA vol. 1, 4.1.1).
bool valid_mgid(const Gid& mgid) {
    return mgid.is_multicast() && (mgid.bytes[1] & 0xE0) == 0;
}

/// Whether what the request says of the group is so.
bool agrees(const wire::McMemberRecord& group, const wire::McMemberRecord& asked,
            std::uint64_t components) {
    const auto same = [components](std::uint64_t bit, const auto& a, const auto& b) {
        return (components & bit) == 0 || a == b;
    };
    return same(mc::kQKey, group.qkey, asked.qkey) && same(mc::kPKey, group.pkey, asked.pkey) &&
           same(mc::kTClass, group.tclass, asked.tclass) && same(mc::kSl, group.sl, asked.sl) &&
           same(mc::kFlowLabel, group.flow_label, asked.flow_label) &&
           same(mc::kHopLimit, group.hop_limit, asked.hop_limit) &&
           same(mc::kScope, group.scope, asked.scope) &&
           mtu_wish(asked, components).allows(group.mtu) &&
           rate_wish(asked, components).allows(group.rate);
}

wire::McMemberRecord shown(const wire::McMemberRecord& group, const Gid& port,
                           std::uint8_t join_state, bool proxy) {
    wire::McMemberRecord record = group;
    record.port_gid = port;
    record.join_state = join_state;
    record.proxy_join = proxy;
    return record;
}

}  // namespace

SaMulticast::Answer SaMulticast::handle_join(const Record& asked, std::uint64_t components,
                                             const SaPort& requester) {
    if (!has(components, kLeaveComponents)) {
        return std::unexpected(status::kInsufficientComponents);
    }
    if (asked.join_state == 0) {
        return std::unexpected(status::kRequestInvalid);
    }
    const bool proxy = asked.port_gid != requester.gid;
    const std::optional<SaPort> port = proxy ? ports_(asked.port_gid) : requester;
    if (!port) {
        return std::unexpected(status::kInvalidGid);
    }
    auto group = groups_.find(asked.mgid);
    if (group == groups_.end()) {
        const auto made = create(asked, components, *port);
        if (!made) {
            return std::unexpected(made.error());
        }
        group = *made;
    } else if (!agrees(group->second.common, asked, components) ||
               !fits(*port, group->second.common)) {
        return std::unexpected(status::kRequestInvalid);
    }
    // Who joins for another needs a place in the group's partition itself.
    if (proxy && !in_partition(requester, group->second.common.pkey)) {
        if (group->second.members.empty()) {
            groups_.erase(group);
        }
        return std::unexpected(status::kRequestDenied);
    }
    Member& member = group->second.members[asked.port_gid];
    member.proxy = proxy && (member.proxy || member.join_state == 0);
    member.join_state |= asked.join_state;
    return shown(group->second.common, asked.port_gid, member.join_state, member.proxy);
}

std::expected<SaMulticast::Groups::iterator, std::uint16_t> SaMulticast::create(
    const Record& asked, std::uint64_t components, const SaPort& port) {
    // A non-member cannot be a group's first port (IBA vol. 1, 15.2.5.17.2).
    if ((asked.join_state & kFullMembers) == 0) {
        return std::unexpected(status::kRequestInvalid);
    }
    if (!has(components, kCreateComponents)) {
        return std::unexpected(status::kInsufficientComponents);
    }
    const auto mtu = mtu_wish(asked, components).realize(port.mtu);
    const auto rate = rate_wish(asked, components).realize(port.rate);
    const bool assign = asked.mgid == Gid{};
    if (!mtu || !rate || !in_partition(port, asked.pkey) || (!assign && !valid_mgid(asked.mgid))) {
        return std::unexpected(status::kRequestInvalid);
    }
    const std::optional<Lid> mlid = free_mlid();
    if (!mlid) {
        return std::unexpected(status::kNoResources);
    }
    Group group;
    group.common = {.mgid = assign ? unused_mgid(asked, components, port) : asked.mgid,
                    .port_gid = {},
                    .qkey = asked.qkey,
                    .mlid = *mlid,
                    .mtu = *mtu,
                    .tclass = asked.tclass,
                    .pkey = asked.pkey,
                    .rate = *rate,
                    .packet_life_time = kLifeTimeDefault,
                    .sl = asked.sl,
                    .flow_label = asked.flow_label,
                    .hop_limit = has(components, mc::kHopLimit) ? asked.hop_limit : std::uint8_t{0},
                    .scope = 0,
                    .join_state = 0};
    group.common.scope = group.common.mgid.bytes[1] & 0xF;
    const Gid mgid = group.common.mgid;
    return groups_.emplace(mgid, std::move(group)).first;
}

SaMulticast::Answer SaMulticast::handle_leave(const Record& asked, std::uint64_t components,
                                              const SaPort& requester) {
    if (!has(components, kLeaveComponents)) {
        return std::unexpected(status::kInsufficientComponents);
    }
    const auto group = groups_.find(asked.mgid);
    if (group == groups_.end()) {
        return std::unexpected(status::kRequestInvalid);
    }
    auto& members = group->second.members;
    const auto member = members.find(asked.port_gid);
    // Only what was joined can be left.
    if (member == members.end() || asked.join_state == 0 ||
        (member->second.join_state & asked.join_state) != asked.join_state) {
        return std::unexpected(status::kRequestInvalid);
    }
    if (asked.port_gid != requester.gid && !member->second.proxy) {
        return std::unexpected(status::kRequestDenied);
    }
    member->second.join_state &= static_cast<std::uint8_t>(~asked.join_state);
    const Record answer = shown(group->second.common, asked.port_gid, member->second.join_state,
                                member->second.proxy);
    if (member->second.join_state == 0) {
        members.erase(member);
    }
    const bool full_members = std::ranges::any_of(
        members, [](const auto& entry) { return (entry.second.join_state & kFullMembers) != 0; });
    if (!full_members) {
        groups_.erase(group);
    }
    return answer;
}

SaMulticast::Answer SaMulticast::handle_get(const Record& asked, std::uint64_t components,
                                            const SaPort& requester) const {
    const bool own = has(components, mc::kPortGid);
    if (own && asked.port_gid != requester.gid) {
        return std::unexpected(status::kNoRecords);
    }
    std::optional<Record> found;
    for (const auto& [mgid, group] : groups_) {
        const auto member = group.members.find(requester.gid);
        if (!in_partition(requester, group.common.pkey) ||
            !agrees(group.common, asked, components) ||
            (has(components, mc::kMgid) && mgid != asked.mgid) ||
            (has(components, mc::kMlid) && group.common.mlid != asked.mlid) ||
            (own && member == group.members.end())) {
            continue;
        }
        if (found) {
            return std::unexpected(status::kTooManyRecords);
        }
        found = own ? shown(group.common, requester.gid, member->second.join_state,
                            member->second.proxy)
                    : group.common;
    }
    if (!found) {
        return std::unexpected(status::kNoRecords);
    }
    return *found;
}

/// The lowest, so that switches need few blocks of their multicast tables.
std::optional<Lid> SaMulticast::free_mlid() const {
    std::vector<bool> used(kGroupsMax);
    for (const auto& [mgid, group] : groups_) {
        used[group.common.mlid.value - kLidMulticastMin.value] = true;
    }
    const auto free = std::ranges::find(used, false);
    if (free == used.end()) {
        return std::nullopt;
    }
    return Lid{static_cast<std::uint16_t>(kLidMulticastMin.value + (free - used.begin()))};
}

/// An MGID of the SA's own choice: transient, signature 0xA01B, the subnet's prefix, a number
/// (IBA vol. 1, 15.2.5.17.3).
Gid SaMulticast::unused_mgid(const Record& asked, std::uint64_t components, const SaPort& port) {
    const unsigned scope =
        has(components, mc::kScope) && asked.scope != 0 ? asked.scope : kScopeLinkLocal;
    Gid mgid;
    do {
        mgid.bytes = {0xFF, static_cast<std::uint8_t>(0x10 | scope), 0xA0, 0x1B};
        std::copy_n(port.gid.bytes.begin(), 8, mgid.bytes.begin() + 4);
        wire::store_be(mgid.bytes.data() + 12, ++assigned_mgids_);
    } while (groups_.contains(mgid));
    return mgid;
}

}  // namespace softib::sm
