// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/multicast.h"

#include <algorithm>
#include <span>

#include "core/sm/sa/codes.h"
#include "core/sm/sa/query.h"
#include "core/wire/sa/sa.h"

namespace softib::sm {

namespace {

namespace mc = wire::mc_member;
namespace status = wire::sa_status;

constexpr std::uint64_t kLeaveComponents = mc::kMgid | mc::kPortGid | mc::kJoinState;
/// The components without which a group cannot be created (IBA vol. 1, C15-0.2.4); the others have
/// defaults.
constexpr std::uint64_t kCreateComponents =
    kLeaveComponents | mc::kQKey | mc::kPKey | mc::kTClass | mc::kSl | mc::kFlowLabel;
constexpr std::uint8_t kFullMembers = wire::kJoinFullMember | wire::kJoinSendOnlyFullMember;

constexpr std::uint8_t kLifeTimeDefault = 18;  // About 1 s.
constexpr unsigned kSignatureOfSa = 0xA01B;

bool has(std::uint64_t components, std::uint64_t bits) {
    return (components & bits) == bits;
}

Wish mtu_wish(const wire::McMemberRecord& r, std::uint64_t components) {
    return {Quantity::kMtu, has(components, mc::kMtuSelector | mc::kMtu), r.mtu_selector, r.mtu};
}

Wish rate_wish(const wire::McMemberRecord& r, std::uint64_t components) {
    return {Quantity::kRate, has(components, mc::kRateSelector | mc::kRate), r.rate_selector,
            r.rate};
}

Wish life_time_wish(const wire::McMemberRecord& r, std::uint64_t components) {
    return {Quantity::kLifeTime, has(components, mc::kPacketLifeTimeSelector | mc::kPacketLifeTime),
            r.packet_life_time_selector, r.packet_life_time};
}

/// Returns the PacketLifeTime of a new group: the default, or the nearest value that the request
/// allows.
std::optional<std::uint8_t> choose_life_time(const Wish& wish) {
    if (wish.allows(kLifeTimeDefault)) {
        return kLifeTimeDefault;
    }
    const int value = wish.selector == wire::Selector::kLessThan      ? wish.value - 1
                      : wish.selector == wire::Selector::kGreaterThan ? wish.value + 1
                                                                      : wish.value;
    if (value < 0 || value > 0x3F) {
        return std::nullopt;
    }
    return static_cast<std::uint8_t>(value);
}

bool fits(const SaPort& port, const wire::McMemberRecord& group) {
    return in_partition(port.pkeys, group.pkey) &&
           rank_of(Quantity::kMtu, port.mtu) >= rank_of(Quantity::kMtu, group.mtu) &&
           rank_of(Quantity::kRate, port.rate) >= rank_of(Quantity::kRate, group.rate);
}

/// Returns whether a request may use this MGID: 0xFF, then the flags 000T and a scope (IBA vol. 1,
/// 4.1.1). With link-local scope the signature 0xA01B is reserved for the SA (15.2.5.17.3).
bool valid_mgid(const Gid& mgid) {
    const unsigned signature = unsigned{mgid.bytes[2]} << 8 | mgid.bytes[3];
    return mgid.is_multicast() && (mgid.bytes[1] & 0xE0) == 0 &&
           !(signature == kSignatureOfSa && (mgid.bytes[1] & 0xF) == kScopeLinkLocal);
}

/// Returns whether the group has the properties that the request names.
bool agrees(const wire::McMemberRecord& group, const wire::McMemberRecord& asked,
            std::uint64_t components) {
    const auto same = [components](std::uint64_t bit, const auto& a, const auto& b) {
        return (components & bit) == 0 || a == b;
    };
    return same(mc::kQKey, group.qkey, asked.qkey) &&
           ((components & mc::kPKey) == 0 || matches(group.pkey, asked.pkey)) &&
           same(mc::kTClass, group.tclass, asked.tclass) && same(mc::kSl, group.sl, asked.sl) &&
           same(mc::kFlowLabel, group.flow_label, asked.flow_label) &&
           same(mc::kHopLimit, group.hop_limit, asked.hop_limit) &&
           same(mc::kScope, group.scope, asked.scope) &&
           mtu_wish(asked, components).allows(group.mtu) &&
           rate_wish(asked, components).allows(group.rate) &&
           life_time_wish(asked, components).allows(group.packet_life_time);
}

bool is_legal(const wire::McMemberRecord& asked, std::uint64_t components) {
    return mtu_wish(asked, components).is_legal() && rate_wish(asked, components).is_legal();
}

wire::McMemberRecord shown(const wire::McMemberRecord& group, const Gid& port,
                           std::uint8_t join_state, bool proxy) {
    wire::McMemberRecord record = group;
    record.port_gid = port;
    record.join_state = join_state;
    record.proxy_join = proxy;
    return record;
}

/// Returns whether a request names a port by this GID. The default prefix may stand for that of the
/// subnet.
bool names(const Gid& asked, const Gid& port) {
    return asked == port || (asked.interface_id() == port.interface_id() &&
                             asked.subnet_prefix() == kSubnetPrefixDefault);
}

bool is_full(const SaMulticast::Member& member) {
    return (member.join_state & kFullMembers) != 0;
}

}  // namespace

wire::McMemberRecord ipoib_broadcast_group(PKey pkey) {
    constexpr QKey kIpoibQKey{0x0B1B};
    constexpr std::uint8_t kRate10 = 3;
    wire::McMemberRecord group{.qkey = kIpoibQKey,
                               .mtu = 4,
                               .pkey = pkey,
                               .rate = kRate10,
                               .packet_life_time = kLifeTimeDefault,
                               .scope = kScopeLinkLocal};
    group.mgid.bytes = {0xFF, 0x12, 0x40, 0x1B, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF};
    wire::store_be(group.mgid.bytes.data() + 4, static_cast<std::uint16_t>(pkey.value | 0x8000));
    return group;
}

const SaMulticast::Group* SaMulticast::find(const Gid& mgid) const {
    const auto found = groups_.find(mgid);
    return found == groups_.end() ? nullptr : &found->second;
}

SaMulticast::Answer SaMulticast::handle_join(const Record& asked, std::uint64_t components,
                                             const SaPort& requester) {
    if (!has(components, kLeaveComponents)) {
        return std::unexpected(status::kInsufficientComponents);
    }
    if (asked.join_state == 0 || !is_legal(asked, components)) {
        return std::unexpected(status::kRequestInvalid);
    }
    const bool proxy = !names(asked.port_gid, requester.gid);
    const std::optional<SaPort> port = proxy ? ports_(asked.port_gid) : requester;
    if (!port) {
        return std::unexpected(status::kInvalidGid);
    }
    auto group = groups_.find(asked.mgid);
    const bool is_new = group == groups_.end();
    const PKey pkey = is_new ? asked.pkey : group->second.common.pkey;
    if (!is_new &&
        (!agrees(group->second.common, asked, components) || !fits(*port, group->second.common))) {
        return std::unexpected(status::kRequestInvalid);
    }
    // A port that joins for another must be in the group's partition itself, and must not change a
    // membership that the other port made itself (IBA vol. 1, o15-0.2.1).
    if (proxy && !requester.trusted) {
        const bool knows = in_partition(requester.pkeys, pkey);
        const auto member = is_new ? decltype(group->second.members.end()){}
                                   : group->second.members.find(port->gid);
        const bool owned =
            !is_new && member != group->second.members.end() && !member->second.proxy;
        if ((!is_new && !knows) || owned) {
            return std::unexpected(status::kRequestDenied);
        }
    }
    if (is_new) {
        const auto made = create(asked, components, *port, requester);
        if (!made) {
            return std::unexpected(made.error());
        }
        group = *made;
    }
    Member& member = group->second.members[port->gid];
    const std::uint8_t before = member.join_state;
    member.proxy = proxy && (member.proxy || before == 0);
    member.join_state |= asked.join_state;
    if (!is_new && member.join_state != before) {
        tell(Event::kMembersChanged, group->second.common);
    }
    return shown(group->second.common, asked.port_gid, member.join_state, member.proxy);
}

std::expected<SaMulticast::Groups::iterator, std::uint16_t> SaMulticast::create(
    const Record& asked, std::uint64_t components, const SaPort& port, const SaPort& requester) {
    // A non-member cannot be a group's first port (IBA vol. 1, 15.2.5.17.2).
    if ((asked.join_state & kFullMembers) == 0) {
        return std::unexpected(status::kRequestInvalid);
    }
    if (!has(components, kCreateComponents)) {
        return std::unexpected(status::kInsufficientComponents);
    }
    if (!in_partition(requester.pkeys, asked.pkey) && !requester.trusted) {
        return std::unexpected(status::kRequestInvalid);
    }
    auto common = common_of(asked, components, port);
    if (!common) {
        return std::unexpected(common.error());
    }
    const auto created = created_by_.find(requester.gid);
    if (groups_.size() >= limits_.groups_max ||
        (created != created_by_.end() && created->second >= limits_.groups_per_client_max)) {
        return std::unexpected(status::kNoResources);
    }
    const std::optional<Lid> mlid =
        pick_mlid(*common, has(components, mc::kMlid) ? std::optional(asked.mlid) : std::nullopt);
    if (!mlid) {
        return std::unexpected(status::kNoResources);
    }
    common->mlid = *mlid;
    return insert({.common = *common, .members = {}, .creator = requester.gid});
}

/// Returns the fields that all members of a new group share.
std::expected<SaMulticast::Record, std::uint16_t> SaMulticast::common_of(const Record& asked,
                                                                         std::uint64_t components,
                                                                         const SaPort& port) {
    const auto mtu = mtu_wish(asked, components).realize(port.mtu);
    const auto rate = rate_wish(asked, components).realize(port.rate);
    const auto life_time = choose_life_time(life_time_wish(asked, components));
    const bool assign = asked.mgid == Gid{};
    if (!mtu || !rate || !life_time || !in_partition(port.pkeys, asked.pkey) ||
        (!assign && !valid_mgid(asked.mgid))) {
        return std::unexpected(status::kRequestInvalid);
    }
    Record common{.mgid = assign ? unused_mgid(asked, components, port) : asked.mgid,
                  .qkey = asked.qkey,
                  .mtu = *mtu,
                  .tclass = asked.tclass,
                  .pkey = asked.pkey,
                  .rate = *rate,
                  .packet_life_time = *life_time,
                  .sl = asked.sl,
                  .flow_label = asked.flow_label,
                  .hop_limit = has(components, mc::kHopLimit) ? asked.hop_limit : std::uint8_t{0}};
    common.scope = common.mgid.bytes[1] & 0xF;
    return common;
}

SaMulticast::Groups::iterator SaMulticast::insert(Group group) {
    const std::size_t index = group.common.mlid.value - kLidMulticastMin.value;
    if (mlid_uses_.size() <= index) {
        mlid_uses_.resize(index + 1);
    }
    ++mlid_uses_[index];
    if (!group.permanent) {
        ++created_by_[group.creator];
    }
    tell(Event::kCreated, group.common);
    const Gid mgid = group.common.mgid;
    return groups_.emplace(mgid, std::move(group)).first;
}

SaMulticast::Answer SaMulticast::handle_leave(const Record& asked, std::uint64_t components,
                                              const SaPort& requester) {
    if (!has(components, kLeaveComponents)) {
        return std::unexpected(status::kInsufficientComponents);
    }
    const auto group = groups_.find(asked.mgid);
    if (group == groups_.end() || !is_legal(asked, components)) {
        return std::unexpected(status::kRequestInvalid);
    }
    const bool own = names(asked.port_gid, requester.gid);
    auto& members = group->second.members;
    auto member = members.find(own ? requester.gid : asked.port_gid);
    if (member == members.end() && !own) {
        const std::optional<SaPort> port = ports_(asked.port_gid);
        member = port ? members.find(port->gid) : members.end();
    }
    // A port can leave only with bits of JoinState with which it has joined.
    if (member == members.end() || asked.join_state == 0 ||
        (member->second.join_state & asked.join_state) != asked.join_state) {
        return std::unexpected(status::kRequestInvalid);
    }
    if (!own && !requester.trusted &&
        (!member->second.proxy || !in_partition(requester.pkeys, group->second.common.pkey))) {
        return std::unexpected(status::kRequestDenied);
    }
    member->second.join_state &= static_cast<std::uint8_t>(~asked.join_state);
    const Record answer = shown(group->second.common, asked.port_gid, member->second.join_state,
                                member->second.proxy);
    if (member->second.join_state == 0) {
        members.erase(member);
    }
    tell(Event::kMembersChanged, group->second.common);
    end_if_abandoned(group);
    return answer;
}

void SaMulticast::end_if_abandoned(Groups::iterator at) {
    const Group& group = at->second;
    if (group.permanent || std::ranges::any_of(group.members, [](const auto& entry) {
            return is_full(entry.second);
        })) {
        return;
    }
    --mlid_uses_[group.common.mlid.value - kLidMulticastMin.value];
    if (const auto created = created_by_.find(group.creator); --created->second == 0) {
        created_by_.erase(created);
    }
    tell(Event::kDeleted, group.common);
    groups_.erase(at);
}

SaMulticast::Answer SaMulticast::handle_get(const Record& asked, std::uint64_t components,
                                            const SaPort& requester) const {
    std::optional<Record> found;
    bool many = false;
    const std::uint16_t result = query(asked, components, requester, [&](const Record& record) {
        many = found.has_value();
        found = record;
        return !many;
    });
    if (result != wire::mad_status::kOk || !found || many) {
        return std::unexpected(result != wire::mad_status::kOk ? result
                               : many                          ? status::kTooManyRecords
                                                               : status::kNoRecords);
    }
    return *found;
}

std::uint16_t SaMulticast::query(const Record& asked, std::uint64_t components,
                                 const SaPort& requester,
                                 const std::function<bool(const Record&)>& found) const {
    if (!is_legal(asked, components)) {
        return status::kRequestInvalid;
    }
    bool going = true;
    if (has(components, mc::kMgid)) {
        if (const Group* group = find(asked.mgid)) {
            query_group(*group, asked, components, requester, found, going);
        }
        return wire::mad_status::kOk;
    }
    for (auto at = groups_.begin(); at != groups_.end() && going; ++at) {
        query_group(at->second, asked, components, requester, found, going);
    }
    return wire::mad_status::kOk;
}

void SaMulticast::query_group(const Group& group, const Record& asked, std::uint64_t components,
                              const SaPort& requester,
                              const std::function<bool(const Record&)>& found, bool& going) const {
    if (!(requester.trusted || in_partition(requester.pkeys, group.common.pkey)) ||
        !agrees(group.common, asked, components) ||
        (has(components, mc::kMlid) && group.common.mlid != asked.mlid)) {
        return;
    }
    const bool by_port = has(components, mc::kPortGid);
    const bool own = by_port && names(asked.port_gid, requester.gid);
    if (!by_port && !requester.trusted) {
        // The answer is about the group alone and does not show members (IBA vol. 1, 15.2.5.17).
        going = found(group.common);
        return;
    }
    const auto show = [&](const Gid& port, const Member& member) {
        if ((has(components, mc::kJoinState) && member.join_state != asked.join_state) ||
            (has(components, mc::kProxyJoin) && member.proxy != asked.proxy_join)) {
            return;
        }
        going = found(shown(group.common, port, member.join_state, member.proxy));
    };
    if (by_port) {
        const auto member = group.members.find(own ? requester.gid : asked.port_gid);
        if ((own || requester.trusted) && member != group.members.end()) {
            show(member->first, member->second);
        }
        return;
    }
    for (auto at = group.members.begin(); at != group.members.end() && going; ++at) {
        show(at->first, at->second);
    }
}

std::expected<Lid, std::uint16_t> SaMulticast::add_permanent(const Record& wanted) {
    if (const auto known = groups_.find(wanted.mgid); known != groups_.end()) {
        Record& common = known->second.common;
        if (known->second.permanent) {
            common.mtu = wanted.mtu;
            common.rate = wanted.rate;
            common.sl = wanted.sl;
        }
        return common.mlid;
    }
    Group group{.common = wanted, .members = {}, .permanent = true};
    group.common.port_gid = {};
    group.common.join_state = 0;
    group.common.scope = wanted.mgid.bytes[1] & 0xF;
    const std::optional<Lid> mlid = pick_mlid(group.common, std::nullopt);
    if (!valid_mgid(wanted.mgid) || !mlid) {
        return std::unexpected(mlid ? status::kRequestInvalid : status::kNoResources);
    }
    group.common.mlid = *mlid;
    insert(std::move(group));
    return *mlid;
}

void SaMulticast::restore(Group group) {
    if (!is_multicast(group.common.mlid) || groups_.contains(group.common.mgid)) {
        return;
    }
    insert(std::move(group));
}

void SaMulticast::remove_port(const Gid& port) {
    for (auto at = groups_.begin(); at != groups_.end();) {
        const auto group = at++;
        if (group->second.members.erase(port) != 0) {
            tell(Event::kMembersChanged, group->second.common);
            end_if_abandoned(group);
        }
    }
}

std::optional<SaMulticast::Event> SaMulticast::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    const Event event = events_.front();
    events_.pop_front();
    return event;
}

void SaMulticast::tell(Event::Kind kind, const Record& group) {
    events_.push_back({kind, group.mgid, group.mlid, group.pkey});
}

/// Returns an MLID for a new group: the wanted one if it is free, else the lowest free one, so that
/// switches need few blocks of their MFTs. If none is free, it is that of groups with the same
/// properties, the one with the fewest groups; std::nullopt if there is no such group.
std::optional<Lid> SaMulticast::pick_mlid(const Record& group, std::optional<Lid> wanted) const {
    const auto lid_of = [](std::size_t index) {
        return Lid{static_cast<std::uint16_t>(kLidMulticastMin.value + index)};
    };
    const std::size_t limit = std::min<std::size_t>(limits_.mlids, mlid_uses_.size());
    if (wanted && *wanted >= kLidMulticastMin) {
        const std::size_t index = wanted->value - kLidMulticastMin.value;
        if (index < limit && mlid_uses_[index] == 0) {
            return *wanted;
        }
    }
    const auto end = mlid_uses_.begin() + static_cast<std::ptrdiff_t>(limit);
    const auto free = std::find(mlid_uses_.begin(), end, 0U);
    if (free != end) {
        return lid_of(static_cast<std::size_t>(free - mlid_uses_.begin()));
    }
    std::optional<Lid> best;
    std::uint32_t fewest = UINT32_MAX;
    for (const auto& [mgid, other] : groups_) {
        const Record& common = other.common;
        const std::uint32_t uses = mlid_uses_[common.mlid.value - kLidMulticastMin.value];
        if (common.pkey == group.pkey && common.sl == group.sl && common.mtu == group.mtu &&
            common.rate == group.rate && uses < fewest) {
            best = common.mlid;
            fewest = uses;
        }
    }
    return best;
}

/// Returns an MGID of the SA's choice: transient, signature 0xA01B, the subnet's prefix, a number
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
