// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpTreeConfig: the part of a tree at one aggregation node: the queue pair to its parent and
// those to its children.

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpTreeConfig {
    static constexpr std::size_t kBytes = 192;

    static constexpr std::size_t kChildrenMax = 44;
    enum class State : std::uint8_t { kDisabled = 0, kEnabled = 1, kError = 2 };
    enum class Op : std::uint8_t {
        kAddChildren = 0,
        kRemoveChildren = 1,
        kWriteTree = 2,
        kSetParent = 3,
    };
    enum class LockMode : std::uint8_t { kByLlt = 0, kByLltLimited = 1, kConstant = 2 };
    enum class Mode : std::uint8_t { kLlt = 0, kSat = 1 };

    std::uint16_t tree_id = 0;
    State state{};
    Op op{};
    std::uint16_t small_data_tree_id = 0;
    std::uint8_t log_max_streaming_op = 0;
    LockMode lock_mode{};
    Mode mode{};
    Qpn parent_qpn{};                  ///< 0: this node is the root.
    std::uint8_t num_of_children = 0;  ///< The number of children in this MAD.
    std::uint16_t record_locator = 0;  ///< In a Get(): the first child that is wanted.
    std::array<Qpn, kChildrenMax> children{};

    static constexpr auto fields() {
        using T = SharpTreeConfig;
        return Fields{
            Field{&T::tree_id, "TreeID", sharp_bit(0, 15), 16},
            Field{&T::state, "State", sharp_bit(0, 27), 4},
            Field{&T::op, "Operation", sharp_bit(0, 31), 4},
            Field{&T::small_data_tree_id, "SmallDataTreeID", sharp_bit(1, 15), 16},
            Field{&T::log_max_streaming_op, "LogMaxStreamingOperation", sharp_bit(1, 19), 4},
            Field{&T::lock_mode, "LockMode", sharp_bit(1, 27), 4},
            Field{&T::mode, "TreeMode", sharp_bit(1, 31), 4},
            Field{&T::parent_qpn, "ParentQPN", sharp_bit(2, 23), 24},
            Field{&T::num_of_children, "NumOfChildren", sharp_bit(3, 7), 8},
            Field{&T::record_locator, "RecordLocator", sharp_bit(3, 31), 16},
            Field{&T::children, "ChildQPN", sharp_bit(4, 31), 32},
        };
    }
    friend bool operator==(const SharpTreeConfig&, const SharpTreeConfig&) = default;
};
static_assert(layout_is_sound<SharpTreeConfig>());

}  // namespace softib::wire
