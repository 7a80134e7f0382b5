// SPDX-License-Identifier: BSD-2-Clause
// Adaptive routing: the sets of equally good ports that the routing engine found, written into the
// switches that can choose (core/wire/adaptive_routing.h). A switch that gets a block of its plain
// forwarding table goes back to that, so this comes after those tables, and is turned on again.
#include <algorithm>

#include "core/sm/manager.h"
#include "core/sm/set_request.h"
#include "core/wire/adaptive_routing.h"

namespace softib::sm {

namespace {

using wire::ArForwardingEntry;
using wire::ArGroupTable;
using wire::ArLidState;
using wire::ArLinearForwardingTable;
using wire::SmAttribute;

constexpr std::uint32_t kSwitchesAtOnce = 64;
constexpr std::size_t kPortsMin = 2;  ///< A set of one is no choice.

}  // namespace

void Manager::got_adaptive_info(const SmpAnswer& answer) {
    SubnetNode::Adaptive& adaptive = subnet_.node(answer.purpose.node).adaptive;
    // A switch that does not know the attribute cannot do it, which is no fault.
    const auto info = answer.status == wire::mad_status::kOk
                          ? wire::parse<wire::AdaptiveRoutingInfo>(answer.data)
                          : wire::AdaptiveRoutingInfo{};
    adaptive.groups_max = info.group_cap;
    adaptive.on = adaptive.on && info.enabled;
}

void Manager::begin_adaptive() {
    adaptive_rank_ = 0;
    if (tables_.groups.empty()) {
        adaptive_rank_ = static_cast<std::uint32_t>(switch_of_rank_.size());
        event(
            {.kind = ManagerEvent::kWarning,
             .text = tables_.engine +
                     " does not say which ports are equally good: switches do not choose; engines "
                     "ftree and updn do"});
    }
}

/// Queues what the next switches need. False: none needs anything.
bool Manager::queue_adaptive() {
    while (queue_.empty() && adaptive_rank_ < switch_of_rank_.size()) {
        const auto last = std::min<std::uint32_t>(
            adaptive_rank_ + kSwitchesAtOnce, static_cast<std::uint32_t>(switch_of_rank_.size()));
        for (; adaptive_rank_ < last; ++adaptive_rank_) {
            queue_adaptive(adaptive_rank_);
        }
    }
    return !queue_.empty();
}

void Manager::queue_adaptive(std::uint32_t rank) {
    const NodeIndex index = switch_of_rank_[rank];
    SubnetNode& node = subnet_.node(index);
    if (node.adaptive.groups_max == 0) {
        return;
    }
    const auto groups = static_cast<std::uint16_t>(
        std::min<std::uint32_t>(tables_.groups.count(rank), node.adaptive.groups_max));
    queue_adaptive_groups(rank, groups);
    queue_adaptive_routes(rank, groups);
    wire::AdaptiveRoutingInfo wanted;
    wanted.enabled = true;
    wanted.group_top = static_cast<std::uint16_t>(groups - 1);
    if (!node.adaptive.on || node.adaptive.group_top != wanted.group_top) {
        node.adaptive.on = true;
        node.adaptive.group_top = wanted.group_top;
        queue(set_request({Purpose::kSetAdaptive, 0, index, 0}, node.path,
                          SmAttribute::kAdaptiveRoutingInfo, 0, wanted));
    }
}

void Manager::queue_adaptive_groups(std::uint32_t rank, std::uint16_t groups) {
    const NodeIndex index = switch_of_rank_[rank];
    SubnetNode& node = subnet_.node(index);
    const std::size_t blocks = (groups + ArGroupTable::kGroups - 1) / ArGroupTable::kGroups;
    std::vector<ArGroupTable>& written = node.adaptive.groups;
    for (std::size_t block = 0; block < blocks; ++block) {
        ArGroupTable wanted;
        for (std::size_t i = 0; i < ArGroupTable::kGroups; ++i) {
            const auto group = static_cast<std::uint16_t>(block * ArGroupTable::kGroups + i);
            if (group < groups) {
                for (const std::uint8_t port : tables_.groups.ports(rank, group)) {
                    wanted.add(i, port);
                }
            }
        }
        if (block < written.size() && written[block] == wanted) {
            continue;
        }
        written.resize(std::max(written.size(), block + 1));
        written[block] = wanted;
        queue(set_request({Purpose::kSetAdaptive, 0, index, 0}, node.path,
                          SmAttribute::kArGroupTable, static_cast<std::uint32_t>(block), wanted));
    }
}

void Manager::queue_adaptive_routes(std::uint32_t rank, std::uint16_t groups) {
    const NodeIndex index = switch_of_rank_[rank];
    SubnetNode& node = subnet_.node(index);
    const auto row = tables_.lfts.row(rank);
    const std::size_t blocks =
        graph_->lid_max().value / ArLinearForwardingTable::kEntries + std::size_t{1};
    std::vector<ArLinearForwardingTable> wanted(blocks);
    for (std::size_t lid = 0; lid < blocks * ArLinearForwardingTable::kEntries; ++lid) {
        ArForwardingEntry& entry = wanted[lid / ArLinearForwardingTable::kEntries]
                                       .entry[lid % ArLinearForwardingTable::kEntries];
        entry.default_port = lid < row.size() ? row[lid] : kLftNoPath;
        entry.group_number = entry.default_port;
    }
    graph_->for_each_lid([&](const routing::Target& target, Lid lid) {
        const std::uint16_t group = tables_.groups.of(rank, target.at);
        if (group < groups && tables_.groups.ports(rank, group).size() >= kPortsMin) {
            ArForwardingEntry& entry = wanted[lid.value / ArLinearForwardingTable::kEntries]
                                           .entry[lid.value % ArLinearForwardingTable::kEntries];
            entry.lid_state = ArLidState::kFree;
            entry.group_number = group;
        }
    });
    std::vector<ArLinearForwardingTable>& written = node.adaptive.forwarding;
    for (std::size_t block = 0; block < blocks; ++block) {
        if (block >= written.size() || !(written[block] == wanted[block])) {
            queue(set_request({Purpose::kSetAdaptive, 0, index, 0}, node.path,
                              SmAttribute::kArLinearForwardingTable,
                              static_cast<std::uint32_t>(block), wanted[block]));
        }
    }
    written = std::move(wanted);
}

}  // namespace softib::sm
