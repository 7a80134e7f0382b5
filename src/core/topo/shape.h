// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

namespace softib::topo {

/// The topologies that can be generated; topology.h has what is known of each.
enum class Shape : std::uint8_t {
#define SOFTIB_SHAPE(name, row) name,
#include "core/topo/shapes.inc"
#undef SOFTIB_SHAPE
};
inline constexpr std::array kShapes{
#define SOFTIB_SHAPE(name, row) Shape::name,
#include "core/topo/shapes.inc"
#undef SOFTIB_SHAPE
};

std::optional<Shape> parse_shape(const std::string& text);
const char* to_string(Shape shape);

}  // namespace softib::topo
