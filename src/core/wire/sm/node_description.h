// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// NodeDescription: a name of the node for people (IBA vol. 1, 14.2.5.2).

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"

namespace softib::wire {

struct NodeDescription {
    static constexpr std::size_t kBytes = 64;

    Text<64> node_string{};

    static constexpr auto fields() {
        using T = NodeDescription;
        return Fields{
            Field{&T::node_string, "NodeString", 0, 512, 0},
        };
    }
    friend bool operator==(const NodeDescription&, const NodeDescription&) = default;
};
static_assert(layout_is_sound<NodeDescription>());

}  // namespace softib::wire
