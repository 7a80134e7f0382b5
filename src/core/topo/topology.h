// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A topology is a file with its generator and one row: everything that differs between topologies
// and that others must know. shapes.inc lists the rows. Names in options, checks of keys, pictures
// and completions follow from them.

#include <cstdint>
#include <expected>
#include <span>
#include <string>

#include "core/topo/graph.h"
#include "core/topo/spec.h"

namespace softib::topo {

/// How pictures place the switches.
enum class Layout : std::uint8_t {
    kTree,    ///< By Node::level.
    kGrid,    ///< By Node::coordinates, a dimension each.
    kGroups,  ///< By Node::coordinates: the group, and the place in it.
};

/// Keys of a description that some topologies use, as bits. The others are for all.
struct SpecKeys {
    static constexpr std::uint8_t kLevels = 1;  ///< Levels, and both oversubscriptions.
    static constexpr std::uint8_t kDimensions = 2;
    static constexpr std::uint8_t kHostsPerSwitch = 4;
    static constexpr std::uint8_t kGroups = 8;  ///< Groups, and switches per group.
};

struct Topology {
    Shape shape;
    const char* name;   ///< As users write it.
    std::uint8_t keys;  ///< The SpecKeys that it uses; a description with others is refused.
    Layout layout;
    std::expected<Fabric, Error> (*generate)(const Spec& spec);
    bool rails = false;  ///< Hosts must have several HCAs; each belongs to a rail.
};

#define SOFTIB_SHAPE(name, row) extern const Topology row;
#include "core/topo/shapes.inc"
#undef SOFTIB_SHAPE

std::span<const Topology* const> topologies();
const Topology& topology_of(Shape shape);
/// Returns the names of the topologies that use one of these keys, such as "torus and hyperx"; 0
/// for all topologies.
std::string topology_names(std::uint8_t keys, const char* last_word);

}  // namespace softib::topo
