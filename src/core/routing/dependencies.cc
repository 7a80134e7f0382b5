// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/dependencies.h"

#include <algorithm>
#include <bit>

namespace softib::routing {

Dependencies::Dependencies(const Graph& graph, const PortMap& ports, std::uint8_t vls)
    : graph_(graph),
      ports_(ports),
      vls_(vls),
      width_(ports.width()),
      row_words_((width_ * vls + 63) / 64),
      words_(graph.switch_count() * width_ * vls * row_words_),
      link_of_(ports.size(), kNone) {
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        for (std::uint32_t i = 0; i < graph.degree(sw); ++i) {
            link_of_[ports_.index(sw, graph.links(sw)[i].port)] = graph.first_link(sw) + i;
        }
    }
}

std::uint64_t Dependencies::count() const {
    std::uint64_t total = 0;
    for (const std::uint64_t word : words_) {
        total += static_cast<std::uint64_t>(std::popcount(word));
    }
    return total;
}

std::vector<Channel> Dependencies::find_cycle() const {
    enum class Mark : std::uint8_t { kNew, kOpen, kDone };
    const auto number = [&](Channel channel) {
        return std::size_t{channel.link} * vls_ + channel.vl;
    };
    std::vector<Mark> marks(graph_.links().size() * vls_, Mark::kNew);
    std::vector<Channel> path;
    std::vector<Channel> work;  // A stack of channels to enter and, below them, to leave again.
    for (std::uint32_t link = 0; link < graph_.links().size(); ++link) {
        for (std::uint8_t vl = 0; vl < vls_; ++vl) {
            work.push_back({link, vl});
            while (!work.empty()) {
                const Channel at = work.back();
                if (marks[number(at)] != Mark::kNew) {
                    if (!path.empty() && path.back() == at) {
                        marks[number(at)] = Mark::kDone;
                        path.pop_back();
                    }
                    work.pop_back();
                    continue;
                }
                marks[number(at)] = Mark::kOpen;
                path.push_back(at);
                std::vector<Channel> cycle;
                for_each_next(at, [&](Channel next) {
                    if (marks[number(next)] == Mark::kOpen && cycle.empty()) {
                        cycle.assign(std::ranges::find(path, next), path.end());
                    } else if (marks[number(next)] == Mark::kNew) {
                        work.push_back(next);
                    }
                });
                if (!cycle.empty()) {
                    return cycle;
                }
            }
        }
    }
    return {};
}

DependencyCollector::DependencyCollector(const Graph& graph, const Tables& tables,
                                         const PortMap& ports, bool from_switches)
    : graph_(graph),
      tables_(tables),
      ports_(ports),
      from_switches_(from_switches),
      by_pair_(tables.sls.pairwise() || !tables.sl_to_vl.empty()),
      used_(graph.switch_count()),
      on_lanes_(std::size_t{graph.switch_count()} * tables.vls) {
    if (by_pair_) {
        find_starts();
    }
}

void DependencyCollector::find_starts() {
    starts_.resize(graph_.switch_count());
    for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
        for (const std::uint32_t i : graph_.targets(sw)) {
            const Target& target = graph_.targets()[i];
            const auto same = [&](std::uint8_t port) {
                return tables_.sl_to_vl.same_in(sw, port, target.port);
            };
            if ((from_switches_ || !target.is_switch()) &&
                std::ranges::none_of(starts_[sw], same)) {
                starts_[sw].push_back(target.port);
            }
        }
    }
}

void DependencyCollector::add(const RouteWalk& walk, const Target& target,
                              Dependencies& dependencies) {
    if (by_pair_) {
        add_by_pair(walk, target, dependencies);
    } else {
        add_one_vl(walk, tables_.sls.at(0, target.at), dependencies);
    }
}

void DependencyCollector::add_one_vl(const RouteWalk& walk, std::uint8_t vl,
                                     Dependencies& dependencies) {
    const auto reached = walk.reached();
    if (!from_switches_) {
        for (const std::uint32_t sw : reached) {
            used_[sw] = graph_.host_count(sw) != 0;
        }
    }
    // From the far ends inwards, so that all packets through a switch are known before its turn.
    for (std::size_t i = reached.size(); i-- > 1;) {
        const std::uint32_t sw = reached[i];
        if (!from_switches_ && used_[sw] == 0) {
            continue;
        }
        const std::uint32_t next = walk.next(sw);
        used_[next] = 1;
        if (next != reached[0]) {
            dependencies.add(next, ports_.peer_port(sw, walk.out_port(sw)), vl, walk.out_port(next),
                             vl);
        }
    }
}

void DependencyCollector::add_by_pair(const RouteWalk& walk, const Target& target,
                                      Dependencies& dependencies) {
    const std::uint8_t vls = tables_.vls;
    const auto reached = walk.reached();
    for (const std::uint32_t sw : reached) {
        std::fill_n(on_lanes_.begin() + static_cast<std::ptrdiff_t>(sw * vls), vls, 0);
        if (sw == target.at) {
            continue;
        }
        const std::uint8_t sl = tables_.sls.at(sw, target.at);
        for (const std::uint8_t in_port : starts_[sw]) {
            const std::uint8_t vl = tables_.vl(sw, in_port, walk.out_port(sw), sl);
            if (vl < vls) {
                on_lanes_[std::size_t{sw} * vls + vl] |= static_cast<std::uint16_t>(1U << sl);
            } else {
                ++discarded_;
            }
        }
    }
    for (std::size_t i = reached.size(); i-- > 1;) {
        const std::uint32_t sw = reached[i];
        const std::uint32_t next = walk.next(sw);
        const std::uint8_t in_port = ports_.peer_port(sw, walk.out_port(sw));
        for (std::uint8_t vl = 0; vl < vls; ++vl) {
            for (unsigned sls = on_lanes_[std::size_t{sw} * vls + vl]; sls != 0; sls &= sls - 1) {
                const auto sl = static_cast<std::uint8_t>(std::countr_zero(sls));
                const std::uint8_t out_vl = tables_.vl(next, in_port, walk.out_port(next), sl);
                if (out_vl >= vls) {
                    ++discarded_;
                    continue;
                }
                if (next == target.at) {
                    continue;  // The channel to the destination's host waits for nothing.
                }
                dependencies.add(next, in_port, vl, walk.out_port(next), out_vl);
                on_lanes_[std::size_t{next} * vls + out_vl] |= static_cast<std::uint16_t>(1U << sl);
            }
        }
    }
}

}  // namespace softib::routing
