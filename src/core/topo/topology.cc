// SPDX-License-Identifier: BSD-2-Clause
#include "core/topo/topology.h"

#include <array>
#include <cstddef>
#include <vector>

namespace softib::topo {

namespace {

constexpr std::array kRows{
#define SOFTIB_SHAPE(name, row) &row,
#include "core/topo/shapes.inc"
#undef SOFTIB_SHAPE
};

}  // namespace

std::span<const Topology* const> topologies() {
    return kRows;
}

const Topology& topology_of(Shape shape) {
    return *kRows[static_cast<std::size_t>(shape)];
}

std::string topology_names(std::uint8_t keys, const char* last_word) {
    std::vector<std::string> names;
    for (const Topology* const row : kRows) {
        if (keys == 0 || (row->keys & keys) != 0) {
            names.emplace_back(row->name);
        }
    }
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        const bool last = i + 1 == names.size();
        text += i == 0 ? "" : last ? std::string(" ") + last_word + " " : ", ";
        text += names[i];
    }
    return text;
}

}  // namespace softib::topo
