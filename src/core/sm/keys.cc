// SPDX-License-Identifier: BSD-2-Clause
// Writes P_Key tables: those of end ports as the partitions say, and the same tables into the
// switch ports that HCAs are cabled to, if the switch can enforce them. Without partitions nothing
// is written.
#include <algorithm>
#include <iterator>

#include "core/sm/manager.h"
#include "core/sm/set_request.h"
#include "core/wire/sm/p_key_table.h"

namespace softib::sm {

namespace {

using wire::kPKeyBlock;

}  // namespace

void Manager::setup_keys() {
    if (!config_.partitions) {
        return;
    }
    for (NodeIndex i = 0; i < subnet_.size(); ++i) {
        SubnetNode& node = subnet_.node(i);
        for (std::size_t p = 1; node.is_switch() && !node.tables_known && p < node.ports.size();
             ++p) {
            node.ports[p].pkeys.clear();  // The switch may not hold what we wrote.
        }
    }
    subnet_.for_each_end_port([&](EndPort end) { setup_keys(end); });
}

void Manager::setup_keys(EndPort end) {
    const SubnetNode& node = subnet_.node(end.node);
    const SubnetPort& port = subnet_.port(end);
    const std::vector<PKey> keys = keys_of(
        *config_.partitions, {port.guid, node.info.node_type, port.guid == config_.port_guid});
    const std::size_t capacity = node.info.partition_cap;
    if (keys.size() > capacity) {
        event({.kind = ManagerEvent::kWarning,
               .text = node.description + " must hold " + std::to_string(keys.size()) +
                       " P_Keys but its table has room for " + std::to_string(capacity) +
                       ": put it into fewer partitions"});
    }
    queue_keys(end, place_keys(port.pkeys, keys, capacity));
    if (!node.is_switch() && port.peer != kNoNode && subnet_.node(port.peer).is_switch()) {
        enforce_keys({port.peer, port.peer_port}, port.pkeys);
    }
}

/// Writes the P_Key table of a switch port. `table` is that of the HCA behind the port.
void Manager::enforce_keys(EndPort end, const std::vector<PKey>& table) {
    const SubnetNode& node = subnet_.node(end.node);
    std::vector<PKey> keys;
    std::ranges::copy_if(table, std::back_inserter(keys), [](PKey key) { return key != PKey{0}; });
    // If not all P_Keys fit, the port enforces none, since it would cut the HCA off from some
    // partitions. The HCA checks P_Keys too.
    const std::size_t capacity = node.switch_info.partition_enforcement_cap;
    const bool able =
        node.switch_info.inbound_enforcement_cap || node.switch_info.outbound_enforcement_cap;
    if (!able || keys.size() > capacity || keys.empty()) {
        subnet_.port(end).pkeys.clear();
        return;
    }
    keys.resize(capacity);
    queue_keys(end, keys);
}

/// Writes the blocks of the table that differ from those that the port has.
void Manager::queue_keys(EndPort end, const std::vector<PKey>& table) {
    const SubnetNode& node = subnet_.node(end.node);
    std::vector<PKey>& has = subnet_.port(end).pkeys;
    const bool known = !has.empty();
    has.resize((std::max(has.size(), table.size()) + kPKeyBlock - 1) / kPKeyBlock * kPKeyBlock);
    for (std::size_t first = 0; first < table.size(); first += kPKeyBlock) {
        wire::PKeyTable block;
        const std::size_t count = std::min(kPKeyBlock, table.size() - first);
        std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(first), count, block.pkey.begin());
        const auto before = has.begin() + static_cast<std::ptrdiff_t>(first);
        if (known && std::equal(block.pkey.begin(), block.pkey.end(), before)) {
            continue;
        }
        std::ranges::copy(block.pkey, before);
        const auto modifier =
            static_cast<std::uint32_t>(std::size_t{end.port} << 16 | first / kPKeyBlock);
        queue(set_request({Purpose::kSetPKeys, end.port, end.node, modifier}, node.path,
                          wire::SmAttribute::kPKeyTable, modifier, block));
    }
}

}  // namespace softib::sm
