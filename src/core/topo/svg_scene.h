// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The contents of a picture of a fabric, without positions: boxes that stand for one or several
// switches with their HCAs, and bundles of cables between boxes. Internal to this folder.

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/graph.h"

namespace softib::topo {

struct SceneBox {
    std::string first;  ///< The name of the first switch.
    std::string last;   ///< The name of the last switch.
    std::uint32_t switches = 0;
    std::vector<NodeIndex> hcas;
    std::uint32_t level = 0;
    std::vector<std::uint32_t> position;  ///< Torus: by dimension. Dragonfly: {group, index}.
};

struct SceneBundle {
    std::uint32_t a = 0;  ///< The index of one box; a < b.
    std::uint32_t b = 0;  ///< The index of the other box.
    std::uint32_t cables = 0;
};

struct Scene {
    std::vector<SceneBox> boxes;
    std::vector<SceneBundle> bundles;   ///< Sorted; each pair of boxes occurs once.
    std::vector<std::uint32_t> extent;  ///< Torus, dragonfly: the number of boxes by dimension.
    bool folded = false;  ///< Boxes stand for several switches, and HCAs are only counted.
};

Scene make_scene(const Fabric& fabric);

}  // namespace softib::topo
