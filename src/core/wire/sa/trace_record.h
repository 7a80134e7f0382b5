// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// TraceRecord: one node on a path (IBA vol. 1, 15.2.5.19).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sm/node_info.h"

namespace softib::wire {

struct TraceRecord {
    static constexpr std::size_t kBytes = 46;

    std::uint64_t gid_prefix = 0;
    std::uint16_t id_generation = 0;
    NodeType node_type{};
    std::uint64_t node_id = 0;
    std::uint64_t chassis_id = 0;
    std::uint64_t entry_port_id = 0;
    std::uint64_t exit_port_id = 0;
    PortNum entry_port{};
    PortNum exit_port{};

    static constexpr auto fields() {
        using T = TraceRecord;
        return Fields{
            Field{&T::gid_prefix, "GIDPrefix", 0, 64, 0}.hex(),
            Field{&T::id_generation, "IDGeneration", 64, 16, 1},
            Field{&T::node_type, "NodeType", 88, 8, 3},
            Field{&T::node_id, "NodeID", 96, 64, 4}.hex(),
            Field{&T::chassis_id, "ChassisID", 160, 64, 5}.hex(),
            Field{&T::entry_port_id, "EntryPortID", 224, 64, 6}.hex(),
            Field{&T::exit_port_id, "ExitPortID", 288, 64, 7}.hex(),
            Field{&T::entry_port, "EntryPort", 352, 8, 8},
            Field{&T::exit_port, "ExitPort", 360, 8, 9},
        };
    }
    friend bool operator==(const TraceRecord&, const TraceRecord&) = default;
};
static_assert(layout_is_sound<TraceRecord>());

}  // namespace softib::wire
