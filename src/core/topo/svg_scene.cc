// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/svg_scene.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/topo/builder.h"
#include "core/topo/render_common.h"

namespace softib::topo {

namespace {

constexpr std::size_t kHcasMax = 200;         ///< More HCAs than this are counted, not drawn.
constexpr std::size_t kTreeSwitchesMax = 64;  ///< More switches than this share boxes.
constexpr std::uint32_t kTreeBoxesPerLevel = 12;
constexpr std::uint32_t kTorusBoxesMax = 64;
constexpr std::size_t kDragonflySwitchesMax = 96;
constexpr std::uint32_t kDragonflyGroupsMax = 24;

/// The box of a switch as a sortable key; switches with equal keys share a box.
using BoxKey = std::vector<std::uint32_t>;

std::vector<std::uint32_t> coordinate_extent(const Fabric& fabric) {
    std::vector<std::uint32_t> extent;
    for (const Node& node : fabric.nodes) {
        extent.resize(std::max(extent.size(), node.coordinates.size()), 1);
        for (std::size_t d = 0; d < node.coordinates.size(); ++d) {
            extent[d] = std::max(extent[d], node.coordinates[d] + 1);
        }
    }
    return extent;
}

/// Returns the boxes of the switches of a torus: blocks, which grow until few enough are left.
std::vector<BoxKey> torus_keys(const Fabric& fabric, Scene& scene) {
    const std::vector<std::uint32_t> size = coordinate_extent(fabric);
    std::vector<std::uint32_t> block(size.size(), 1);
    scene.extent = size;
    const auto boxes = [&] {
        std::uint64_t product = 1;
        for (const std::uint32_t side : scene.extent) {
            product *= side;
        }
        return product;
    };
    while (boxes() > kTorusBoxesMax) {
        const auto longest = std::ranges::max_element(scene.extent);
        const auto d = static_cast<std::size_t>(longest - scene.extent.begin());
        ++block[d];
        scene.extent[d] = ceil_div(size[d], block[d]);
        scene.folded = true;
    }
    std::vector<BoxKey> keys(fabric.nodes.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        for (std::size_t d = 0; d < fabric.nodes[i].coordinates.size(); ++d) {
            keys[i].push_back(fabric.nodes[i].coordinates[d] / block[d]);
        }
    }
    return keys;
}

/// Returns the boxes of the switches of a dragonfly: one for each switch of a small one, otherwise
/// one for each group, or for several groups.
std::vector<BoxKey> dragonfly_keys(const Fabric& fabric, Scene& scene) {
    scene.extent = coordinate_extent(fabric);
    scene.folded = fabric.count(NodeKind::kSwitch) > kDragonflySwitchesMax;
    const std::uint32_t run = scene.folded ? ceil_div(scene.extent[0], kDragonflyGroupsMax) : 1;
    scene.extent[0] = ceil_div(scene.extent[0], run);
    scene.extent[1] = scene.folded ? 1 : scene.extent[1];
    std::vector<BoxKey> keys(fabric.nodes.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const Node& node = fabric.nodes[i];
        if (node.kind == NodeKind::kSwitch) {
            keys[i] = {node.coordinates[0] / run, scene.folded ? 0 : node.coordinates[1]};
        }
    }
    return keys;
}

/// Returns the boxes of the switches of a tree, or of a fabric that was read: runs of switches of
/// one level.
std::vector<BoxKey> tree_keys(const Fabric& fabric, Scene& scene) {
    std::map<std::uint32_t, std::uint32_t> per_level;
    for (const Node& node : fabric.nodes) {
        per_level[node.level] += node.kind == NodeKind::kSwitch ? 1 : 0;
    }
    scene.folded = fabric.count(NodeKind::kHca) > kHcasMax ||
                   fabric.count(NodeKind::kSwitch) > kTreeSwitchesMax;
    std::map<std::uint32_t, std::uint32_t> seen;
    std::vector<BoxKey> keys(fabric.nodes.size());
    for (std::size_t i = 0; i < keys.size(); ++i) {
        const Node& node = fabric.nodes[i];
        if (node.kind == NodeKind::kSwitch) {
            const std::uint32_t run =
                scene.folded ? ceil_div(per_level[node.level], kTreeBoxesPerLevel) : 1;
            keys[i] = {node.level, seen[node.level]++ / run};
        }
    }
    return keys;
}

bool has_coordinates(const Fabric& fabric, std::size_t count_min) {
    return std::ranges::all_of(fabric.nodes, [&](const Node& node) {
        return node.kind != NodeKind::kSwitch || node.coordinates.size() >= count_min;
    });
}

void add_bundles(const Fabric& fabric, const std::vector<std::uint32_t>& box_of, Scene& scene) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> bundles;
    for (std::uint32_t i = 0; i < fabric.nodes.size(); ++i) {
        if (fabric.nodes[i].kind != NodeKind::kSwitch) {
            continue;
        }
        for (const PortLink& link : fabric.nodes[i].ports) {
            if (link.peer == kNoNode || link.peer.value < i ||
                fabric.node(link.peer).kind != NodeKind::kSwitch) {
                continue;
            }
            const auto [low, high] = std::minmax(box_of[i], box_of[link.peer.value]);
            if (low != high) {
                ++bundles[{low, high}];
            }
        }
    }
    for (const auto& [ends, cables] : bundles) {
        scene.bundles.push_back({ends.first, ends.second, cables});
    }
}

}  // namespace

Scene make_scene(const Fabric& fabric) {
    Scene scene;
    std::vector<BoxKey> keys;
    if (is_grid(fabric) && has_coordinates(fabric, 1)) {
        keys = torus_keys(fabric, scene);
    } else if (is_grouped(fabric) && has_coordinates(fabric, 2)) {
        keys = dragonfly_keys(fabric, scene);
    } else {
        keys = tree_keys(fabric, scene);
    }
    std::map<BoxKey, std::uint32_t> box_by_key;
    for (std::size_t i = 0; i < keys.size(); ++i) {
        if (fabric.nodes[i].kind == NodeKind::kSwitch) {
            box_by_key.try_emplace(keys[i], 0);
        }
    }
    std::uint32_t next = 0;
    for (auto& [key, box] : box_by_key) {
        box = next++;
        scene.boxes.emplace_back().position = key;
    }
    std::vector<std::uint32_t> box_of(fabric.nodes.size(), 0);
    for (std::uint32_t i = 0; i < keys.size(); ++i) {
        const Node& node = fabric.nodes[i];
        if (node.kind != NodeKind::kSwitch) {
            continue;
        }
        box_of[i] = box_by_key[keys[i]];
        SceneBox& box = scene.boxes[box_of[i]];
        box.first = box.switches++ == 0 ? node.name : box.first;
        box.last = node.name;
        box.level = node.level;
        for (const PortLink& link : node.ports) {
            if (link.peer != kNoNode && fabric.node(link.peer).kind == NodeKind::kHca) {
                box.hcas.push_back(link.peer);
            }
        }
    }
    add_bundles(fabric, box_of, scene);
    return scene;
}

}  // namespace softib::topo
