// SPDX-License-Identifier: BSD-2-Clause
#include "core/routing/choice_walk.h"

#include <algorithm>

namespace softib::routing {

namespace {

constexpr std::uint8_t kNotSeen = 0xFF;
/// The most hops of a way; a longer one runs in circles. It is the limit of directed routes (IBA
/// vol. 1, 14.2.1.2).
constexpr std::uint32_t kWayMax = 64;
constexpr std::uint8_t kStart = 0;  ///< Stands for the VL of packets that come from a host.

}  // namespace

ChoiceWalk::ChoiceWalk(const Graph& graph, const Tables& tables, const PortMap& ports)
    : graph_(graph), tables_(tables), ports_(ports), left_(ports.size() * tables.vls) {}

void ChoiceWalk::add(std::uint32_t to, Dependencies& dependencies) {
    dependencies_ = &dependencies;
    to_ = to;
    for (sl_ = 0; sl_ < kSlCount; ++sl_) {
        bool used = false;
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            if (sw == to || graph_.host_count(sw) == 0 || tables_.sls.at(sw, to) != sl_) {
                continue;
            }
            if (!used) {
                std::ranges::fill(left_, kNotSeen);
                used = true;
            }
            for (const std::uint32_t i : graph_.targets(sw)) {
                if (const Target& host = graph_.targets()[i]; !host.is_switch()) {
                    longest_ = std::max(longest_, follow(sw, host.port, kStart, 0));
                }
            }
        }
    }
}

std::uint32_t ChoiceWalk::follow(std::uint32_t sw, std::uint8_t in_port, std::uint8_t in_vl,
                                 std::uint32_t depth) {
    if (sw == to_) {
        return 0;
    }
    if (depth == kWayMax) {
        ++lost_;
        return kWayMax;
    }
    std::uint8_t& known = left_[std::size_t{ports_.index(sw, in_port)} * tables_.vls + in_vl];
    if (known != kNotSeen) {
        return known;
    }
    const Choice choice = tables_.choice(sw, in_port, to_);
    std::uint32_t longest = 0;
    for (const auto ports : {choice.near, choice.far}) {
        for (const std::uint8_t port : ports) {
            longest = std::max(longest, step(sw, in_port, in_vl, port, depth));
        }
    }
    if (choice.near.empty()) {
        for (const Lid lid : graph_.lids(to_)) {
            longest = std::max(longest, step(sw, in_port, in_vl, tables_.lfts.at(sw, lid), depth));
        }
    }
    known = static_cast<std::uint8_t>(std::min(longest, kWayMax));
    return longest;
}

std::uint32_t ChoiceWalk::step(std::uint32_t sw, std::uint8_t in_port, std::uint8_t in_vl,
                               std::uint8_t out_port, std::uint32_t depth) {
    const std::uint32_t next = ports_.peer(sw, out_port);
    if (next == kNone) {
        ++lost_;
        return 0;
    }
    const std::uint8_t vl = tables_.vl(sw, in_port, out_port, sl_);
    if (vl >= tables_.vls) {
        ++discarded_;
        return 0;
    }
    if (graph_.link_at(sw, in_port) != kNone) {
        dependencies_->add(sw, in_port, in_vl, out_port, vl);
    }
    return 1 + follow(next, ports_.peer_port(sw, out_port), vl, depth + 1);
}

}  // namespace softib::routing
