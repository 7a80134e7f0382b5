// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/sssp.h"

#include <algorithm>

#include "core/routing/numbering.h"

namespace softib::routing {

Sssp::Sssp(const Graph& graph)
    : graph_(graph),
      weights_(graph.links().size()),
      out_(graph.switch_count()),
      hops_(graph.switch_count()),
      costs_(graph.switch_count()),
      through_(graph.switch_count()) {}

void Sssp::to(std::uint32_t to, std::uint32_t lids) {
    std::ranges::fill(out_, kNone);
    std::ranges::fill(hops_, kNone);
    hops_[to] = 0;
    costs_[to] = 0;
    queue_.assign(1, to);
    for (std::size_t i = 0; i < queue_.size(); ++i) {
        const std::uint32_t sw = queue_[i];
        std::uint32_t link = graph_.first_link(sw);
        // All switches nearer than this one have their cost already.
        for (const Link& back : graph_.links(sw)) {
            if (hops_[back.peer] == kNone) {
                hops_[back.peer] = hops_[sw] + 1;
                queue_.push_back(back.peer);
            } else if (hops_[back.peer] + 1 == hops_[sw] &&
                       (out_[sw] == kNone || costs_[back.peer] + weights_[link] < costs_[sw])) {
                out_[sw] = link;
                costs_[sw] = costs_[back.peer] + weights_[link];
            }
            ++link;
        }
        through_[sw] = std::uint64_t{lids} * graph_.host_count(sw);
    }
    for (std::size_t i = queue_.size(); i-- > 1;) {
        const std::uint32_t sw = queue_[i];
        weights_[out_[sw]] += through_[sw];
        through_[graph_.links()[out_[sw]].peer] += through_[sw];
    }
}

Lfts route_by_weights(const Graph& graph) {
    Lfts lfts(graph.switch_count(), graph.lid_max());
    Sssp sssp(graph);
    for (const std::uint32_t to : order_by_hosts(graph)) {
        fill_local(graph, to, lfts);
        const auto fill = [&](Lid lid) {
            for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
                if (sssp.out(sw) != kNone) {
                    lfts.at(sw, lid) = graph.links()[sssp.out(sw)].port;
                }
            }
        };
        // The switch itself, which comes after its hosts, is reached like the last of them.
        bool found = false;
        for (const Lid lid : graph.lids(to)) {
            const bool host = !graph.targets()[graph.target_of(lid)].is_switch();
            if (host || !found) {
                sssp.to(to, host ? 1 : 0);
                found = true;
            }
            fill(lid);
        }
    }
    return lfts;
}

Lfts route_by_switch(const Graph& graph, bool spread) {
    const Neighbours neighbours(graph);
    Lfts lfts(graph.switch_count(), graph.lid_max());
    Sssp sssp(graph);
    for (const std::uint32_t to : order_by_hosts(graph)) {
        fill_local(graph, to, lfts);
        sssp.to(to, spread ? graph.host_count(to) : 0);
        const std::vector<Lid> lids = graph.lids(to);
        for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
            for (const Neighbours::Neighbour& next : neighbours.of(sw)) {
                if (sssp.out(sw) == kNone || next.peer != graph.links()[sssp.out(sw)].peer) {
                    continue;
                }
                const auto cables = neighbours.links(next);
                for (std::size_t i = 0; i < lids.size(); ++i) {
                    lfts.at(sw, lids[i]) = graph.links()[cables[i % cables.size()]].port;
                }
            }
        }
    }
    return lfts;
}

}  // namespace softib::routing
