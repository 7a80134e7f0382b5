// SPDX-License-Identifier: BSD-2-Clause
// TraceRecord: every node on the way of a path (IBA vol. 1, 15.2.5.19). The request is a PathRecord
// that names both ends.
#include "core/sm/sa/path_records.h"
#include "core/wire/sa/trace_record.h"

namespace softib::sm {

namespace {

using wire::PathRecord;

wire::TraceRecord record_of(const Subnet& subnet, NodeIndex index, std::uint8_t in,
                            std::uint8_t out) {
    const SubnetNode& node = subnet.node(index);
    const auto guid_of = [&](std::uint8_t port) {
        return port == 0 || port >= node.ports.size()
                   ? std::uint64_t{0}
                   : subnet.port(end_port_of(subnet, index, port)).guid.value;
    };
    const std::uint8_t some_port = in != 0 ? in : out;
    return {.gid_prefix = subnet.port(end_port_of(subnet, index, some_port)).info.gid_prefix,
            .node_type = node.info.node_type,
            .node_id = node.info.node_guid.value,
            .chassis_id = node.info.system_image_guid.value,
            .entry_port_id = guid_of(in),
            .exit_port_id = guid_of(out),
            .entry_port = PortNum{in},
            .exit_port = PortNum{out}};
}

}  // namespace

SaStatus query_trace_records(const SaQuery& query, const PathContext& context, SaTable& table) {
    constexpr std::uint64_t kSgid = wire::component(&PathRecord::sgid);
    constexpr std::uint64_t kDgid = wire::component(&PathRecord::dgid);
    constexpr std::uint64_t kSlid = wire::component(&PathRecord::slid);
    constexpr std::uint64_t kDlid = wire::component(&PathRecord::dlid);
    const Subnet& subnet = query.subnet;
    const auto asked = query.record<PathRecord>();
    if (!(query.has(kSgid) || query.has(kSlid)) || !(query.has(kDgid) || query.has(kDlid))) {
        return wire::sa_status::kInsufficientComponents;
    }
    const auto from =
        query.has(kSlid) ? subnet.by_lid(asked.slid) : find_port(subnet, context.guids, asked.sgid);
    const auto to =
        query.has(kDlid) ? subnet.by_lid(asked.dlid) : find_port(subnet, context.guids, asked.dgid);
    if (!from || !to || !may_see(query, *from) || !may_see(query, *to)) {
        return wire::mad_status::kOk;
    }
    const Lid dlid = query.has(kDlid) ? asked.dlid : base_lid(subnet, *to);
    std::uint8_t in = 0;
    for (const EndPort& hop : subnet.trace(*from, dlid)) {
        const bool ends_here = same(*from, *to);
        table.add(record_of(subnet, hop.node, in, ends_here ? std::uint8_t{0} : hop.port));
        in = subnet.port(hop).peer_port;
    }
    if (table.count() != 0 && !same(*from, *to)) {
        table.add(record_of(subnet, to->node, in, 0));
    }
    return wire::mad_status::kOk;
}

}  // namespace softib::sm
