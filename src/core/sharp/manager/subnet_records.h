// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The subnet as its administration (SA) tells it: records, and the routed fabric that they make
// when put together. Members of trees are known by the base LIDs of their ports, and trees are made
// of ways to switches, so that three kinds of records are enough: NodeRecord, LinkRecord and, of
// the linear forwarding tables, the blocks in which switches have their LIDs.

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <vector>

#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "core/wire/linear_forwarding_table_record.h"
#include "core/wire/link_record.h"
#include "core/wire/node_record.h"

namespace softib::sharp {

struct SubnetRecords {
    std::vector<wire::NodeRecord> nodes;
    std::vector<wire::LinkRecord> links;
    std::vector<wire::LinearForwardingTableRecord> tables;
};

struct RoutedSubnet {
    routing::Graph graph;  ///< Switches by GUID, whatever order the records have.
    routing::Lfts lfts;    ///< Without the blocks that were not asked for.
};

/// The blocks of forwarding tables that say how switches are reached, in ascending order.
std::vector<std::uint16_t> blocks_of_switches(std::span<const wire::NodeRecord> nodes);

/// Records that name a LID of which there is no NodeRecord are left out: the SA may have learned
/// of a node between two answers. The error says which records contradict each other.
std::expected<RoutedSubnet, std::string> join_records(const SubnetRecords& records);

}  // namespace softib::sharp
