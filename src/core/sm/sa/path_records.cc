// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/path_records.h"

#include <expected>

namespace softib::sm {

namespace {

using wire::PathRecord;
namespace status = wire::sa_status;

namespace pr {
constexpr std::uint64_t kServiceId = wire::component(&PathRecord::service_id);
constexpr std::uint64_t kDgid = wire::component(&PathRecord::dgid);
constexpr std::uint64_t kSgid = wire::component(&PathRecord::sgid);
constexpr std::uint64_t kDlid = wire::component(&PathRecord::dlid);
constexpr std::uint64_t kSlid = wire::component(&PathRecord::slid);
constexpr std::uint64_t kRawTraffic = wire::component(&PathRecord::raw_traffic);
constexpr std::uint64_t kFlowLabel = wire::component(&PathRecord::flow_label);
constexpr std::uint64_t kHopLimit = wire::component(&PathRecord::hop_limit);
constexpr std::uint64_t kTClass = wire::component(&PathRecord::tclass);
constexpr std::uint64_t kNumbPath = wire::component(&PathRecord::numb_path);
}  // namespace pr

constexpr std::uint8_t kHopLimitMax = 255;

PathWanted wanted_of(const SaQuery& query, const PathRecord& asked) {
    PathWanted wanted = wanted_path(query, asked);
    // SubnAdmGet asks for one path (IBA vol. 1, 15.2.5.16), SubnAdmGetTable for all.
    wanted.paths_max = query.method == wire::Method::kGet ? 1
                       : query.has(pr::kNumbPath)         ? asked.numb_path
                                                          : UINT32_MAX;
    wanted.service_id = query.has(pr::kServiceId) ? asked.service_id : 0;
    return wanted;
}

/// One end of a path as the request names it.
struct AskedEnd {
    std::optional<PathEnd> end{};  ///< The port; std::nullopt if the request names none.
    bool missing = false;          ///< Whether the request names a port that does not exist.
};

std::expected<AskedEnd, SaStatus> asked_end(const SaQuery& query, const SaGuids& guids,
                                            bool has_gid, const Gid& gid, bool has_lid, Lid lid) {
    if (!has_gid && !has_lid) {
        return AskedEnd{};
    }
    std::optional<EndPort> port;
    if (has_gid) {
        port = find_port(query.subnet, guids, gid);
        if (!port) {
            return AskedEnd{.missing = true};
        }
    }
    if (has_lid) {
        const std::optional<EndPort> owner = query.subnet.by_lid(lid);
        if (!owner) {
            return AskedEnd{.missing = true};
        }
        if (port && !same(*port, *owner)) {
            return std::unexpected(status::kRequestInvalid);
        }
        port = owner;
    }
    PathEnd end = path_end(query.subnet, *port);
    if (has_gid) {
        end.gid = gid;
    }
    if (has_lid) {
        end.first = lid;
        end.lids = 1;
    }
    return AskedEnd{.end = end};
}

/// Calls fn for the end that the request names, or for all end ports if it names none.
void for_each_end(const SaQuery& query, const AskedEnd& asked, const SaTable& table,
                  const auto& fn) {
    if (asked.end) {
        fn(*asked.end);
        return;
    }
    query.subnet.for_each_end_port([&](EndPort port) {
        if (!table.full() && base_lid(query.subnet, port) != kLidUnassigned) {
            fn(path_end(query.subnet, port));
        }
    });
}

/// Returns whether the source that the request names is a member of the group; true if it names
/// none.
bool is_member(const SaQuery& query, const SaMulticast::Group& group, const PathRecord& asked) {
    if (query.has(pr::kSgid) && !group.members.contains(asked.sgid)) {
        return false;
    }
    if (query.has(pr::kSlid)) {
        const std::optional<EndPort> port = query.subnet.by_lid(asked.slid);
        return port && group.members.contains(gid_of(query.subnet, *port));
    }
    return true;
}

void add_group(const SaQuery& query, const SaMulticast::Group& group, const PathRecord& asked,
               const PathWanted& wanted, SaTable& table) {
    const wire::McMemberRecord& common = group.common;
    const bool visible = query.requester.trusted ||
                         in_partition(pkeys_of(query.subnet, query.requester.port), common.pkey);
    if (!visible || !is_member(query, group, asked) || wanted.paths_max == 0 ||
        (query.has(pr::kDlid) && asked.dlid != common.mlid) ||
        (wanted.pkey && ((wanted.pkey->value ^ common.pkey.value) & 0x7FFF) != 0) ||
        (wanted.sl && *wanted.sl != common.sl) ||
        (query.has(pr::kFlowLabel) && asked.flow_label != common.flow_label) ||
        (query.has(pr::kHopLimit) && asked.hop_limit != common.hop_limit) ||
        (query.has(pr::kTClass) && asked.tclass != common.tclass) ||
        !wanted.mtu.allows(common.mtu) || !wanted.rate.allows(common.rate) ||
        !wanted.life_time.allows(common.packet_life_time)) {
        return;
    }
    // A path to a group is not reversible.
    table.add(
        PathRecord{.service_id = wanted.service_id,
                   .dgid = common.mgid,
                   .sgid = asked.sgid,
                   .dlid = common.mlid,
                   .slid = asked.slid,
                   .flow_label = common.flow_label,
                   .hop_limit = common.scope == kScopeLinkLocal ? common.hop_limit : kHopLimitMax,
                   .tclass = common.tclass,
                   .numb_path = 1,
                   .pkey = common.pkey,
                   .sl = common.sl,
                   .mtu = common.mtu,
                   .rate = common.rate,
                   .packet_life_time = common.packet_life_time});
}

/// Adds the paths to a group that the request names by MGID, or to all groups that share an MLID.
SaStatus query_multicast(const SaQuery& query, const PathContext& context, const PathRecord& asked,
                         const PathWanted& wanted, SaTable& table) {
    if (query.has(pr::kDgid)) {
        if (const SaMulticast::Group* group = context.multicast.find(asked.dgid)) {
            add_group(query, *group, asked, wanted, table);
        }
        return wire::mad_status::kOk;
    }
    for (const auto& [mgid, group] : context.multicast.groups()) {
        add_group(query, group, asked, wanted, table);
    }
    return wire::mad_status::kOk;
}

SaStatus check(const SaQuery& query, const PathRecord& asked, const PathWanted& wanted) {
    if (!wanted.mtu.is_legal() || !wanted.rate.is_legal()) {
        return status::kRequestInvalid;
    }
    const std::uint64_t service = query.components & pr::kServiceId;
    if (service != 0 && service != pr::kServiceId) {
        return status::kInsufficientComponents;
    }
    if (query.has(pr::kSgid) && asked.sgid.is_multicast()) {
        return status::kInvalidGid;
    }
    return wire::mad_status::kOk;
}

}  // namespace

std::optional<EndPort> find_port(const Subnet& subnet, const SaGuids& guids, const Gid& gid) {
    const Guid guid = gid.interface_id();
    std::optional<EndPort> port = subnet.by_port_guid(guid);
    if (!port) {
        if (const std::optional<Guid> base = guids.find(guid)) {
            port = subnet.by_port_guid(*base);
        }
    }
    // The default prefix counts in every subnet.
    if (port && gid.subnet_prefix() != kSubnetPrefixDefault &&
        gid.subnet_prefix() != subnet.port(*port).info.gid_prefix) {
        return std::nullopt;
    }
    return port;
}

SaStatus query_path_records(const SaQuery& query, const PathContext& context, SaTable& table) {
    const auto asked = query.record<PathRecord>();
    const PathWanted wanted = wanted_of(query, asked);
    if (const SaStatus wrong = check(query, asked, wanted); wrong != wire::mad_status::kOk) {
        return wrong;
    }
    if ((query.has(pr::kDgid) && asked.dgid.is_multicast()) ||
        (query.has(pr::kDlid) && is_multicast(asked.dlid))) {
        return query_multicast(query, context, asked, wanted, table);
    }
    // There are no paths for raw packets.
    if (query.has(pr::kRawTraffic) && asked.raw_traffic) {
        return wire::mad_status::kOk;
    }
    const auto source = asked_end(query, context.guids, query.has(pr::kSgid), asked.sgid,
                                  query.has(pr::kSlid), asked.slid);
    const auto target = asked_end(query, context.guids, query.has(pr::kDgid), asked.dgid,
                                  query.has(pr::kDlid), asked.dlid);
    if (!source || !target) {
        return source ? target.error() : source.error();
    }
    if (source->missing || target->missing) {
        return wire::mad_status::kOk;
    }
    const PathFinder finder(query, context.settings);
    for_each_end(query, *source, table, [&](const PathEnd& from) {
        for_each_end(query, *target, table, [&](const PathEnd& to) {
            finder.find(wanted, from, to, [&](const PathRecord& record) { table.add(record); });
        });
    });
    return wire::mad_status::kOk;
}

}  // namespace softib::sm
