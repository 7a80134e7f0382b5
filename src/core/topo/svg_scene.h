// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a picture of a fabric shows, before it is laid out: boxes that stand for one or several
// switches with their HCAs, and bundles of cables between boxes. Internal to this folder.

#include <cstdint>
#include <string>
#include <vector>

#include "core/topo/fabric.h"

namespace softib::topo {

struct SceneBox {
    std::string first;  ///< Name of the first switch.
    std::string last;   ///< Name of the last switch.
    std::uint32_t switches = 0;
    std::vector<NodeIndex> hcas;
    std::uint32_t level = 0;
    std::vector<std::uint32_t> position;  ///< Torus: by dimension. Dragonfly: {group, index}.
};

struct SceneBundle {
    std::uint32_t a = 0;  ///< Index into boxes, a < b.
    std::uint32_t b = 0;
    std::uint32_t cables = 0;
};

struct Scene {
    std::vector<SceneBox> boxes;
    std::vector<SceneBundle> bundles;   ///< Sorted, each pair once.
    std::vector<std::uint32_t> extent;  ///< Torus, dragonfly: boxes per position.
    bool folded = false;  ///< Boxes stand for several switches, HCAs are only counted.
};

Scene make_scene(const Fabric& fabric);

}  // namespace softib::topo
