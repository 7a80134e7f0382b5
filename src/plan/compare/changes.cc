// SPDX-License-Identifier: BSD-2-Clause
#include "plan/compare/changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/topo/spec.h"

namespace softib::plan {

namespace {

/// Returns how the fullest leaf switch is cabled: "37 cables down and 19 up at a leaf of 64 ports".
/// A number of cables is whole, so that few hosts may have more cables up than was asked for.
std::string leaf_note(const Variant& variant) {
    const auto fabric = fabric_of(variant);
    std::size_t down_most = 0;
    std::size_t up_most = 0;
    std::size_t ports = 0;
    for (std::size_t i = 0; fabric && i < fabric->nodes.size(); ++i) {
        const topo::Node& node = fabric->nodes[i];
        if (node.kind != topo::NodeKind::kSwitch || node.level != 0) {
            continue;
        }
        std::size_t down = 0;
        std::size_t up = 0;
        for (const topo::PortLink& link : node.ports) {
            if (link.peer != topo::kNoNode) {
                (fabric->node(link.peer).kind == topo::NodeKind::kHca ? down : up) += 1;
            }
        }
        if (down > down_most) {
            down_most = down;
            up_most = up;
            ports = node.ports.size() - 1;
        }
    }
    return down_most == 0 ? ""
                          : fmt::format("{} cables down and {} up at a leaf of {} ports", down_most,
                                        up_most, ports);
}

}  // namespace

Cluster with_shape(Cluster cluster, topo::Shape shape) {
    topo::Spec& old = cluster.fabric.spec;
    topo::Spec spec;
    spec.name = old.name;
    spec.shape = shape;
    spec.hosts = old.hosts;
    spec.hcas_per_host = old.hcas_per_host;
    spec.generation = old.generation;
    old = spec;
    return cluster;
}

Cluster with_taper(Cluster cluster, std::uint32_t down) {
    topo::Spec& spec = cluster.fabric.spec;
    spec.oversubscription = {.down = down, .up = 1};
    // The units of a SuperPOD have a host for each port down of a leaf. Without units, the cables
    // up are as many as the hosts need.
    if (down != 1 && spec.shape == topo::Shape::kSuperPod) {
        spec.shape = topo::Shape::kRailOptimized;
    }
    return cluster;
}

std::vector<Variant> tapered(const Cluster& cluster) {
    std::vector<Variant> variants;
    for (const std::uint32_t down : {1U, 2U, 4U, 7U}) {
        Variant variant{fmt::format("{}:1", down), with_taper(cluster, down)};
        if (!variants.empty()) {
            variant.leaf_ports = variants.front().leaf_ports;
        } else if (const auto full = fabric_of(variant)) {
            // A leaf with few hosts is generated without free ports. It stays the same switch.
            const auto leaf = std::ranges::find_if(full->nodes, [](const topo::Node& node) {
                return node.kind == topo::NodeKind::kSwitch && node.level == 0;
            });
            variant.leaf_ports = static_cast<std::uint32_t>(leaf->ports.size()) - 1;
        }
        variant.note = leaf_note(variant);
        for (const Variant& before : variants) {
            if (before.note == variant.note) {
                variant.note += ", the same tree as with " + before.name;
                break;
            }
        }
        variants.push_back(std::move(variant));
    }
    return variants;
}

std::vector<Variant> of_generations(const Cluster& cluster) {
    std::vector<Variant> variants;
    for (const topo::Generation generation :
         {topo::Generation::kEdr, topo::Generation::kHdr, topo::Generation::kNdr,
          topo::Generation::kXdr, topo::Generation::kGdr}) {
        Variant variant{topo::link_speed(generation).name, cluster};
        variant.cluster.fabric.spec.generation = generation;
        variant.cluster.fabric.spec.radix = 0;
        if (generation == topo::Generation::kGdr) {
            variant.note = "XDR's switches at twice its rate";
        }
        variants.push_back(variant);
    }
    for (Variant& variant : variants) {
        // PCIe is somewhat faster than the link, as in the slots for a generation's HCAs.
        Cluster& changed = variant.cluster;
        changed.pcie.bytes_per_s = 1e18;
        changed.pcie.bytes_per_s = 1.1 * changed.nic_bytes_per_s();
    }
    return variants;
}

std::vector<Variant> of_shapes(const Cluster& cluster) {
    std::vector<Variant> variants;
    for (const topo::Shape shape :
         {topo::Shape::kFatTree, topo::Shape::kRailOptimized, topo::Shape::kRailOnly,
          topo::Shape::kDragonfly, topo::Shape::kDragonflyPlus, topo::Shape::kTorus,
          topo::Shape::kHyperX}) {
        variants.push_back({topo::to_string(shape), with_shape(cluster, shape)});
    }
    return variants;
}

std::vector<Variant> of_link_layers(const Cluster& cluster) {
    std::vector<Variant> variants;
    for (const Variant& taper : tapered(cluster)) {
        for (const LinkLayer layer : {LinkLayer::kInfiniBand, LinkLayer::kRoce}) {
            Variant variant = taper;
            variant.name = to_string(layer) + (taper.name == "1:1" ? "" : ", " + taper.name);
            variant.cluster.fabric.link_layer = layer;
            variant.cluster.fabric.adaptive = layer == LinkLayer::kInfiniBand;
            variant.cluster.fabric.sharp &= layer == LinkLayer::kInfiniBand;
            variants.push_back(variant);
        }
    }
    return variants;
}

std::vector<Variant> of_planes(const Cluster& cluster) {
    std::vector<Variant> variants;
    for (const std::uint32_t planes : {1U, 2U, 4U, 8U}) {
        variants.push_back({std::to_string(planes), with_planes(cluster, planes)});
        variants.back().cluster.fabric.failed_planes = 0;
    }
    variants.push_back({"8, one failed", variants.back().cluster});
    variants.back().cluster.fabric.failed_planes = 1;
    return variants;
}

}  // namespace softib::plan
