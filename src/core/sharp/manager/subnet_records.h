// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subnet as the SA (subnet administration) reports it: records, and the routed fabric that they
// make when put together. Members of trees are known by the base LIDs of their ports, and trees
// follow the routes to switches, so that three kinds of records are enough: NodeRecord, LinkRecord,
// and those blocks of the linear forwarding tables that have LIDs of switches.

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "core/wire/sa/linear_forwarding_table_record.h"
#include "core/wire/sa/link_record.h"
#include "core/wire/sa/node_record.h"

namespace softib::sharp {

struct SubnetRecords {
    std::vector<wire::NodeRecord> nodes;
    std::vector<wire::LinkRecord> links;
    std::vector<wire::LinearForwardingTableRecord> tables;
};

struct RoutedSubnet {
    routing::Graph graph;  ///< Switches are in the order of their GUIDs, not of the records.
    routing::Lfts lfts;    ///< Blocks that were not read are empty.
};

/// Returns the numbers of the forwarding table blocks that have LIDs of switches, in ascending
/// order.
std::vector<std::uint16_t> blocks_of_switches(std::span<const wire::NodeRecord> nodes);

/// Puts records together. Leaves out records that name a LID without a NodeRecord, since the SA may
/// have learned of a node between two answers. The error says which records contradict each other.
std::expected<RoutedSubnet, std::string> join_records(const SubnetRecords& records);

}  // namespace softib::sharp
