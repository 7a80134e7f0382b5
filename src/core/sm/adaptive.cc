// SPDX-License-Identifier: BSD-2-Clause
// Adaptive routing: writes the sets of equally good ports that the routing engine found into the
// switches that can choose among them (core/wire/sm/adaptive_routing.h). A switch turns its
// adaptive routing off when a block of its LinearForwardingTable is written, so this phase comes
// after those tables and turns it on again.
#include <algorithm>

#include "core/sm/adaptive_tables.h"
#include "core/sm/manager.h"

namespace softib::sm {

namespace {

constexpr std::uint32_t kSwitchesAtOnce = 64;

}  // namespace

void Manager::got_adaptive_info(const SmpAnswer& answer) {
    SubnetNode::Adaptive& adaptive = subnet_.node(answer.purpose.node).adaptive;
    // A switch that does not know the attribute has no adaptive routing; that is no error.
    const auto info = answer.status == wire::mad_status::kOk
                          ? wire::parse<wire::AdaptiveRoutingInfo>(answer.data)
                          : wire::AdaptiveRoutingInfo{};
    adaptive.groups_max = info.group_cap;
    // A switch of softib that supports sub-groups has private tables too.
    adaptive.private_tables = info.sub_groups_supported != 0;
    adaptive.on = adaptive.on && info.enabled;
}

void Manager::begin_adaptive() {
    adaptive_rank_ = 0;
    if (tables_.groups.empty()) {
        adaptive_rank_ = static_cast<std::uint32_t>(switch_of_rank_.size());
        event(
            {.kind = ManagerEvent::kWarning,
             .text = "engine " + tables_.engine +
                     " finds no equally good ports, so adaptive routing stays off: use ftree, updn "
                     "or dragonfly"});
        return;
    }
    bool fit = true;
    for (std::uint32_t rank = 0; rank < switch_of_rank_.size() && fit; ++rank) {
        fit = long_way_groups(*graph_, tables_, rank) <=
              subnet_.node(switch_of_rank_[rank]).adaptive.groups_max;
    }
    if (!fit) {
        tables_.long_ways = {};
        event({.kind = ManagerEvent::kWarning,
               .text = "some switches have too few groups of ports for the longer ways of the "
                       "dragonfly, so packets take the shortest ways alone"});
    }
}

/// Returns whether all switches can have private tables, which longer ways need: packets from hosts
/// and packets from switches near by then choose from different ports.
bool Manager::has_private_tables() const {
    return std::ranges::all_of(switch_of_rank_, [&](NodeIndex index) {
        return subnet_.node(index).adaptive.private_tables;
    });
}

/// Queues the requests for the next switches that need any. Returns false if none does.
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
    const AdaptiveTables wanted = adaptive_tables(*graph_, tables_, rank, node.adaptive.groups_max,
                                                  static_cast<std::uint8_t>(node.ports.size() - 1));
    std::vector<SmpRequest> requests;
    list_adaptive_requests(wanted, node.adaptive.written, node.adaptive.on, requests);
    for (SmpRequest& request : requests) {
        request.purpose = {Purpose::kSetAdaptive, 0, index, 0};
        request.path = node.path;
        queue(std::move(request));
    }
    node.adaptive.on = true;
    node.adaptive.written = wanted;
}

}  // namespace softib::sm
