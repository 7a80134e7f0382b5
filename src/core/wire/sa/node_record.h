// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// NodeRecord: NodeInfo and NodeDescription of a port (IBA vol. 1, 15.2.5.2).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/node_description.h"
#include "core/wire/sm/node_info.h"

namespace softib::wire {

struct NodeRecord {
    static constexpr std::size_t kBytes = 108;

    Lid lid{};
    NodeInfo node_info{};
    NodeDescription node_description{};

    static constexpr auto fields() {
        using T = NodeRecord;
        return Fields{
            Field{&T::lid, "LID", 0, 16, 0},
            Field{&T::node_info, "NodeInfo", 32, 320, 2},
            Field{&T::node_description, "NodeDescription", 352, 512, 14},
        };
    }
    friend bool operator==(const NodeRecord&, const NodeRecord&) = default;
};
static_assert(layout_is_sound<NodeRecord>());

}  // namespace softib::wire
