// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/route_walk.h"

#include <algorithm>

namespace softib::routing {

PortMap::PortMap(const Graph& graph) {
    for (const Link& link : graph.links()) {
        width_ = std::max(width_, link.port + 1U);
    }
    peer_.assign(std::size_t{graph.switch_count()} * width_, kNone);
    peer_port_.assign(peer_.size(), 0);
    for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
        for (const Link& link : graph.links(sw)) {
            peer_[index(sw, link.port)] = link.peer;
            peer_port_[index(sw, link.port)] = link.peer_port;
        }
    }
}

RouteWalk::RouteWalk(const Graph& graph, const Lfts& lfts, const PortMap& ports)
    : lfts_(lfts),
      ports_(ports),
      count_(graph.switch_count()),
      columns_(std::size_t{kLftBlock} * count_),
      next_(count_),
      child_(count_),
      sibling_(count_),
      hops_(count_),
      queue_(count_) {}

/// Reads a whole block of all switches, since reading one LID touches a cache line of each switch
/// anyway.
void RouteWalk::load_block(std::uint32_t block) {
    block_ = block;
    for (std::uint32_t sw = 0; sw < count_; ++sw) {
        const std::span<const std::uint8_t> entries = lfts_.block(sw, block);
        for (std::uint32_t i = 0; i < kLftBlock; ++i) {
            columns_[std::size_t{i} * count_ + sw] = entries[i];
        }
    }
}

void RouteWalk::to(const Target& target, Lid lid) {
    if (lid.value / kLftBlock != block_) {
        load_block(lid.value / kLftBlock);
    }
    out_ = std::span(columns_).subspan(std::size_t{lid.value % kLftBlock} * count_, count_);
    std::ranges::fill(child_, kNone);
    std::ranges::fill(hops_, kNone);
    for (std::uint32_t sw = 0; sw < count_; ++sw) {
        const std::uint32_t next = ports_.peer(sw, out_[sw]);
        next_[sw] = next;
        if (next != kNone) {
            sibling_[sw] = child_[next];
            child_[next] = sw;
        }
    }
    reached_ = 0;
    if (out_[target.at] != target.port) {
        return;
    }
    queue_[reached_++] = target.at;
    hops_[target.at] = 0;
    for (std::size_t head = 0; head < reached_; ++head) {
        const std::uint32_t at = queue_[head];
        for (std::uint32_t sw = child_[at]; sw != kNone; sw = sibling_[sw]) {
            hops_[sw] = hops_[at] + 1;
            queue_[reached_++] = sw;
        }
    }
}

}  // namespace softib::routing
