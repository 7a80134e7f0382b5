// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// LinkRecord: one direction of a cable (IBA vol. 1, 15.2.5.13).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"

namespace softib::wire {

struct LinkRecord {
    static constexpr std::size_t kBytes = 6;

    Lid from_lid{};
    PortNum from_port{};
    PortNum to_port{};
    Lid to_lid{};

    static constexpr auto fields() {
        using T = LinkRecord;
        return Fields{
            Field{&T::from_lid, "FromLID", 0, 16, 0},
            Field{&T::from_port, "FromPort", 16, 8, 1},
            Field{&T::to_port, "ToPort", 24, 8, 2},
            Field{&T::to_lid, "ToLID", 32, 16, 3},
        };
    }
    friend bool operator==(const LinkRecord&, const LinkRecord&) = default;
};
static_assert(layout_is_sound<LinkRecord>());

}  // namespace softib::wire
