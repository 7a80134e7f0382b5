// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "core/base/check.h"

namespace softib::routing {

namespace {

// In a forwarding table 255 means "no path" (IBA vol. 1, 14.2.5.10).
constexpr std::uint8_t kPortMax = 254;

}  // namespace

std::uint32_t GraphBuilder::add_switch(Guid guid) {
    guids_.push_back(guid);
    return static_cast<std::uint32_t>(guids_.size() - 1);
}

void GraphBuilder::add_cable(std::uint32_t a, std::uint8_t port_a, std::uint32_t b,
                             std::uint8_t port_b) {
    if (a == b) {
        return;
    }
    cables_.push_back({a, b, port_a, port_b});
    cables_.push_back({b, a, port_b, port_a});
}

std::expected<void, Error> GraphBuilder::check_cables() const {
    for (const Cable& cable : cables_) {
        if (cable.from >= guids_.size()) {
            return std::unexpected(
                Error{fmt::format("a cable ends at switch {} of {}: add the switch first",
                                  cable.from, guids_.size())});
        }
        if (cable.port == 0 || cable.port > kPortMax) {
            return std::unexpected(
                Error{fmt::format("{}: a cable at port {}: cable ports 1 to {}",
                                  to_string(guids_[cable.from]), cable.port, kPortMax)});
        }
    }
    return {};
}

void GraphBuilder::place_links(Graph& graph) {
    std::ranges::sort(cables_, {}, [](const Cable& cable) {
        return std::tuple(cable.from, cable.port, cable.to, cable.peer_port);
    });
    graph.first_link_.assign(guids_.size() + 1, 0);
    graph.place_of_port_.assign(guids_.size() * 256, 0xFF);
    for (const Cable& cable : cables_) {
        graph.place_of_port_[std::size_t{cable.from} * 256 + cable.port] =
            static_cast<std::uint8_t>(graph.first_link_[cable.from + 1]++);
        graph.links_.push_back({cable.to, cable.port, cable.peer_port});
    }
    for (std::size_t i = 1; i < graph.first_link_.size(); ++i) {
        graph.first_link_[i] += graph.first_link_[i - 1];
    }
    for (const Link& link : graph.links_) {
        graph.reverse_.push_back(graph.link_at(link.peer, link.peer_port));
    }
}

std::expected<void, Error> GraphBuilder::place_targets(Graph& graph) const {
    std::uint32_t lid_max = 0;
    for (const Target& target : targets_) {
        const std::uint32_t last = target.lid.value + target.lid_count() - 1;
        if (target.at >= guids_.size() || target.lmc > 7 || target.port > kPortMax) {
            return std::unexpected(Error{
                fmt::format("{}: attached to port {} of switch {} with LMC {}: take a "
                            "switch that was added, a port up to {}, an LMC up to 7",
                            to_string(target.guid), target.port, target.at, target.lmc, kPortMax)});
        }
        if (target.lid.value == 0 || last > kLidUnicastMax.value) {
            return std::unexpected(Error{
                fmt::format("{}: LID {} to {} are not all unicast: take 1 to {}",
                            to_string(target.guid), target.lid.value, last, kLidUnicastMax.value)});
        }
        lid_max = std::max(lid_max, last);
    }
    graph.lid_max_ = Lid{static_cast<std::uint16_t>(lid_max)};
    graph.target_of_lid_.assign(lid_max + 1, kNone);
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
        for (std::uint32_t k = 0; k < targets_[i].lid_count(); ++k) {
            std::uint32_t& owner = graph.target_of_lid_[targets_[i].lid.value + k];
            if (owner != kNone) {
                return std::unexpected(Error{fmt::format(
                    "LID {} belongs to {} and to {}: give each its own", targets_[i].lid.value + k,
                    to_string(targets_[owner].guid), to_string(targets_[i].guid))});
            }
            owner = i;
        }
    }
    return {};
}

std::expected<Graph, Error> GraphBuilder::build() {
    Graph graph;
    if (auto result = check_cables(); !result) {
        return std::unexpected(result.error());
    }
    place_links(graph);
    for (std::size_t i = 0; i < cables_.size(); ++i) {
        if (i > 0 && cables_[i].from == cables_[i - 1].from &&
            cables_[i].port == cables_[i - 1].port) {
            return std::unexpected(
                Error{fmt::format("{}: two cables at port {}: keep one",
                                  to_string(guids_[cables_[i].from]), cables_[i].port)});
        }
    }
    if (auto result = place_targets(graph); !result) {
        return std::unexpected(result.error());
    }
    graph.guids_ = guids_;
    graph.targets_ = targets_;
    graph.first_target_.assign(guids_.size() + 1, 0);
    graph.hosts_of_.assign(guids_.size(), 0);
    for (std::uint32_t i = 0; i < targets_.size(); ++i) {
        graph.by_switch_.push_back(i);
        ++graph.first_target_[targets_[i].at + 1];
        graph.hosts_of_[targets_[i].at] += targets_[i].is_switch() ? 0U : 1U;
        graph.host_count_ += targets_[i].is_switch() ? 0U : 1U;
    }
    for (std::size_t i = 1; i < graph.first_target_.size(); ++i) {
        graph.first_target_[i] += graph.first_target_[i - 1];
    }
    std::ranges::sort(graph.by_switch_, {}, [&](std::uint32_t i) {
        const Target& target = targets_[i];
        return std::tuple(target.at, target.is_switch(), target.order, target.port, target.lid);
    });
    return graph;
}

Neighbours::Neighbours(const Graph& graph) {
    std::vector<std::uint32_t> position(graph.switch_count(), kNone);
    first_.push_back(0);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        const std::uint32_t begin = first_.back();
        for (const Link& link : graph.links(sw)) {
            std::uint32_t& at = position[link.peer];
            if (at == kNone || at < begin) {
                at = static_cast<std::uint32_t>(neighbours_.size());
                neighbours_.push_back({link.peer, 0, 0});
            }
            ++neighbours_[at].count;
        }
        std::uint32_t next = graph.first_link(sw);
        for (std::size_t i = begin; i < neighbours_.size(); ++i) {
            neighbours_[i].first = next;
            next += neighbours_[i].count;
            neighbours_[i].count = 0;
        }
        links_.resize(next);
        for (std::uint32_t i = 0; i < graph.degree(sw); ++i) {
            Neighbour& neighbour = neighbours_[position[graph.links(sw)[i].peer]];
            links_[neighbour.first + neighbour.count++] = graph.first_link(sw) + i;
        }
        first_.push_back(static_cast<std::uint32_t>(neighbours_.size()));
    }
}

std::vector<Lid> Graph::lids(std::uint32_t sw) const {
    std::vector<Lid> result;
    for (const std::uint32_t index : targets(sw)) {
        for (std::uint32_t i = 0; i < targets_[index].lid_count(); ++i) {
            result.push_back(Lid{static_cast<std::uint16_t>(targets_[index].lid.value + i)});
        }
    }
    return result;
}

std::vector<std::uint32_t> find_islands(const Graph& graph) {
    std::vector<std::uint32_t> island(graph.switch_count(), kNone);
    std::vector<std::uint32_t> queue;
    for (std::uint32_t start = 0; start < graph.switch_count(); ++start) {
        if (island[start] != kNone) {
            continue;
        }
        island[start] = start;
        queue.assign(1, start);
        for (std::size_t head = 0; head < queue.size(); ++head) {
            for (const Link& link : graph.links(queue[head])) {
                if (island[link.peer] == kNone) {
                    island[link.peer] = start;
                    queue.push_back(link.peer);
                }
            }
        }
    }
    return island;
}

std::vector<std::uint32_t> hops_from(const Graph& graph, std::span<const std::uint32_t> starts) {
    std::vector<std::uint32_t> hops(graph.switch_count(), kNone);
    std::vector<std::uint32_t> queue;
    for (const std::uint32_t sw : starts) {
        if (hops[sw] == kNone) {
            hops[sw] = 0;
            queue.push_back(sw);
        }
    }
    for (std::size_t head = 0; head < queue.size(); ++head) {
        for (const Link& link : graph.links(queue[head])) {
            if (hops[link.peer] == kNone) {
                hops[link.peer] = hops[queue[head]] + 1;
                queue.push_back(link.peer);
            }
        }
    }
    return hops;
}

std::vector<std::uint32_t> hops_from(const Graph& graph, std::uint32_t start) {
    return hops_from(graph, std::span(&start, 1));
}

}  // namespace softib::routing
