// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sizes of trees of 2 levels (leaf, spine) and 3 levels (leaf, spine, core), computed before
// anything is built. Internal to this folder.
//
// Without oversubscription a leaf has at least as many cables up as HCAs down, and a spine of a
// 3-level tree at least as many cables up as down, so that any permutation of the hosts can send at
// full rate. A tree that is not full gets the fewest switches with which this is true, and parallel
// cables between the same two switches.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/topo/builder.h"
#include "core/topo/graph.h"
#include "core/topo/spec.h"

namespace softib::topo {

/// The cables of one switch to the level above: `uppers` switches, with `width` cables to each.
struct TreeTrunk {
    std::uint32_t uppers = 0;
    std::uint32_t width = 0;
};

struct TreePlan {
    std::uint32_t radix = 0;
    std::uint32_t leaf_radix = 0;  ///< Ports of a leaf, which may have fewer than the others.
    std::uint32_t levels = 0;
    std::uint32_t leaf_down = 0;   ///< Ports of a leaf for HCAs.
    std::uint32_t spine_down = 0;  ///< Ports of a spine for leaves.
    std::uint32_t pods = 1;        ///< A 2-level tree is one pod.
    std::uint32_t leaves_per_pod = 0;
    std::uint32_t leaves = 0;
    TreeTrunk leaf_up;
    TreeTrunk spine_up;  ///< 3 levels: the cables of a spine to the cores of its group.

    std::uint32_t spines() const { return pods * leaf_up.uppers; }
    std::uint32_t cores() const { return leaf_up.uppers * spine_up.uppers; }
    std::uint64_t switches() const { return std::uint64_t{leaves} + spines() + cores(); }
};

/// The differences between the shapes that are trees.
struct TreeRules {
    bool rails = false;        ///< Each HCA of a host needs a leaf of its own.
    bool whole_units = false;  ///< Leaves come in units, whether their ports are used or not.
};

/// Returns the number of ports of the common switch of a generation, the default radix.
std::uint32_t natural_radix(Generation generation);

std::expected<TreePlan, Error> plan_tree(const Spec& spec, const TreeRules& rules);

/// Returns the placement of HCAs on the leaves of a planned tree.
Placement placement_of(const Spec& spec, const TreeRules& rules, const TreePlan& plan);

struct TreeSwitches {
    std::vector<NodeIndex> leaves;
    std::vector<NodeIndex> spines;
    std::vector<NodeIndex> cores;
};

/// Adds the switches of a tree; their names begin with `prefix`.
TreeSwitches add_tree(FabricBuilder& builder, const TreePlan& plan, const std::string& prefix = "");
/// Adds the cables between the switches of a tree. The caller has added those to HCAs, which take
/// the lower ports of the leaves.
void cable_tree(FabricBuilder& builder, const TreePlan& plan, const TreeSwitches& tree);

}  // namespace softib::topo
