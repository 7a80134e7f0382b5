// SPDX-License-Identifier: BSD-2-Clause
// NodeRecord: one for every end port (IBA vol. 1, 15.2.5.2).
#include "core/sm/sa/fabric_records.h"
#include "core/wire/sa/node_record.h"

namespace softib::sm {

namespace {

using wire::NodeRecord;

namespace nr {
constexpr std::uint64_t kLid = wire::component(&NodeRecord::lid);
constexpr std::uint64_t kNodeGuid =
    wire::component(&NodeRecord::node_info, &wire::NodeInfo::node_guid);
constexpr std::uint64_t kPortGuid =
    wire::component(&NodeRecord::node_info, &wire::NodeInfo::port_guid);
}  // namespace nr

NodeRecord record_of(const Subnet& subnet, EndPort end) {
    const SubnetNode& node = subnet.node(end.node);
    NodeRecord record{.lid = base_lid(subnet, end),
                      .node_info = node.info,
                      .node_description = {wire::Text<64>(node.description)}};
    record.node_info.port_guid = subnet.port(end).guid;
    // LocalPortNum is this port, not the one by which the manager happened to find the node.
    record.node_info.local_port_num = PortNum{end.port};
    return record;
}

void add_ends_of(const Subnet& subnet, NodeIndex node, const auto& fn) {
    if (subnet.node(node).is_switch()) {
        fn(EndPort{node, 0});
        return;
    }
    for (std::size_t port = 1; port < subnet.node(node).ports.size(); ++port) {
        fn(EndPort{node, static_cast<std::uint8_t>(port)});
    }
}

}  // namespace

SaStatus query_node_records(const SaQuery& query, SaTable& table) {
    const auto asked = query.record<NodeRecord>();
    // The port was found by the LID already, whichever of its 2^LMC LIDs that is.
    const std::uint64_t components = query.components & ~nr::kLid;
    const auto look_at = [&](EndPort end) {
        if (base_lid(query.subnet, end) == kLidUnassigned) {
            return;
        }
        const NodeRecord record = record_of(query.subnet, end);
        if (wire::matches(asked, record, components) && may_see(query, end)) {
            table.add(record);
        }
    };
    if (!query.has(nr::kLid) && query.has(nr::kPortGuid)) {
        if (const auto end = query.subnet.by_port_guid(asked.node_info.port_guid)) {
            look_at(*end);
        }
    } else if (!query.has(nr::kLid) && query.has(nr::kNodeGuid)) {
        const NodeIndex node = query.subnet.find(asked.node_info.node_guid);
        if (node != kNoNode && query.subnet.node(node).present) {
            add_ends_of(query.subnet, node, look_at);
        }
    } else {
        for_each_asked(query, query.has(nr::kLid), asked.lid, look_at);
    }
    return wire::mad_status::kOk;
}

}  // namespace softib::sm
