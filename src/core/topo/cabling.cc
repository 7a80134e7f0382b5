// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/cabling.h"

#include <algorithm>
#include <array>

#include "core/base/check.h"

namespace softib::topo {

namespace {

constexpr std::uint32_t kMetre = 100;
constexpr std::uint32_t kAnyLength = UINT32_MAX;

// Kinds and reaches from vendors' data sheets, simplified: one reach for each kind.
constexpr std::array kUpToEdr{CableRule{CableKind::kDac, 5 * kMetre},
                              CableRule{CableKind::kAoc, 100 * kMetre},
                              CableRule{CableKind::kSingleMode, kAnyLength}};
constexpr std::array kHdr{CableRule{CableKind::kDac, 2 * kMetre},
                          CableRule{CableKind::kAoc, 100 * kMetre},
                          CableRule{CableKind::kSingleMode, kAnyLength}};
constexpr std::array kNdr{
    CableRule{CableKind::kDac, 2 * kMetre}, CableRule{CableKind::kAcc, 5 * kMetre},
    CableRule{CableKind::kMultiMode, 50 * kMetre}, CableRule{CableKind::kSingleMode, kAnyLength}};
constexpr std::array kXdr{CableRule{CableKind::kAcc, 250},
                          CableRule{CableKind::kSingleMode, kAnyLength}};

std::uint32_t middle_of(std::vector<std::uint32_t>& racks) {
    const auto middle = racks.begin() + static_cast<std::ptrdiff_t>(racks.size() / 2);
    std::ranges::nth_element(racks, middle);
    return *middle;
}

/// Returns the number of cables from each node to the nearest HCA; HCAs themselves have 0.
std::vector<std::uint32_t> heights(const Fabric& fabric) {
    std::vector<std::uint32_t> height(fabric.nodes.size(), UINT32_MAX);
    std::vector<std::uint32_t> queue;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (fabric.nodes[i].kind == NodeKind::kHca) {
            height[i] = 0;
            queue.push_back(i);
        }
    }
    for (std::size_t head = 0; head < queue.size(); ++head) {
        for (const PortLink& link : fabric.nodes[queue[head]].ports) {
            if (link.peer != kNoNode && height[link.peer.value] == UINT32_MAX) {
                height[link.peer.value] = height[queue[head]] + 1;
                queue.push_back(link.peer.value);
            }
        }
    }
    return height;
}

}  // namespace

const char* to_string(CableKind kind) {
    switch (kind) {
        case CableKind::kDac:
            return "DAC";
        case CableKind::kAcc:
            return "ACC";
        case CableKind::kAoc:
            return "AOC";
        case CableKind::kMultiMode:
            return "transceivers, multi-mode";
        case CableKind::kSingleMode:
            break;
    }
    return "transceivers, single-mode";
}

std::span<const CableRule> cable_rules(Generation generation) {
    switch (generation) {
        case Generation::kHdr:
            return kHdr;
        case Generation::kNdr:
            return kNdr;
        case Generation::kXdr:
        case Generation::kGdr:  // No product is public: as XDR.
            return kXdr;
        case Generation::kSdr:
        case Generation::kDdr:
        case Generation::kQdr:
        case Generation::kFdr10:
        case Generation::kFdr:
        case Generation::kEdr:
            break;
    }
    return kUpToEdr;
}

const CableRule& cable_for(Generation generation, std::uint32_t length_cm) {
    const auto rules = cable_rules(generation);
    const auto found = std::ranges::find_if(
        rules, [&](const CableRule& rule) { return length_cm <= rule.reach_cm; });
    SOFTIB_CHECK(found != rules.end());
    return *found;
}

FloorPlan complete_plan(const FloorPlan& plan, const Fabric& fabric) {
    FloorPlan result = plan;
    if (result.hosts_per_rack == 0) {
        std::size_t most = 0;
        for (const Host& host : fabric.hosts) {
            most = std::max(most, host.hcas.size());
        }
        result.hosts_per_rack = most >= 8 ? 4 : (most > 1 ? 16 : 32);
    }
    return result;
}

std::vector<std::uint32_t> place_in_racks(const Fabric& fabric, const FloorPlan& plan) {
    std::vector<std::uint32_t> rack(fabric.nodes.size(), 0);
    const std::vector<std::uint32_t> height = heights(fabric);
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (fabric.nodes[i].kind == NodeKind::kHca) {
            rack[i] = fabric.nodes[i].host / plan.hosts_per_rack;
        } else {
            order.push_back(i);
        }
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t i) { return height[i]; });
    for (const std::uint32_t i : order) {
        std::vector<std::uint32_t> below;
        for (const PortLink& link : fabric.nodes[i].ports) {
            if (link.peer != kNoNode && height[link.peer.value] < height[i]) {
                below.push_back(rack[link.peer.value]);
            }
        }
        rack[i] = below.empty() ? 0 : middle_of(below);
    }
    return rack;
}

std::uint32_t cable_length_cm(const FloorPlan& plan, std::uint32_t rack_a, std::uint32_t rack_b) {
    if (rack_a == rack_b) {
        return plan.inside_cm;
    }
    const auto apart = [](std::uint32_t a, std::uint32_t b) { return a > b ? a - b : b - a; };
    return apart(rack_a % plan.racks_per_row, rack_b % plan.racks_per_row) * plan.rack_cm +
           apart(rack_a / plan.racks_per_row, rack_b / plan.racks_per_row) * plan.row_cm +
           2 * plan.climb_cm + plan.slack_cm;
}

}  // namespace softib::topo
