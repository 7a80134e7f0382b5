// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpDataHeader: the header before the payload of a packet between two neighbours in an
// aggregation tree. The format is defined by softib and described in docs/sharp-packets.md.

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

struct SharpDataHeader {
    static constexpr std::size_t kBytes = 32;

    static constexpr std::uint8_t kVersion = 1;
    enum class Kind : std::uint8_t { kUp = 1, kDown = 2, kError = 3 };
    enum class Error : std::uint8_t { kNone = 0, kMismatch = 1, kNotLocked = 2 };

    std::uint8_t version = kVersion;
    Kind kind{};
    bool contributes = false;  ///< The payload is a contribution to the result.
    bool wants_result = false;
    bool streaming = false;  ///< The tree is a streaming tree (SAT), not a low-latency one (LLT).
    std::uint8_t data_type = 0;
    std::uint8_t tag_type = 0;
    std::uint8_t reduce_op = 0;
    std::uint8_t error = 0;  ///< In a packet of kind kError: an Error.
    std::uint16_t tree_id = 0;
    std::uint32_t group_id = 0;
    std::uint32_t sequence = 0;  ///< The number of the operation in its group.
    std::uint64_t offset = 0;    ///< The place of the payload in the vector, in bytes.
    std::uint32_t length = 0;    ///< The length of the payload of members that contribute.

    static constexpr auto fields() {
        using T = SharpDataHeader;
        return Fields{
            Field{&T::version, "Version", sharp_bit(0, 31), 4},
            Field{&T::kind, "Kind", sharp_bit(0, 27), 4},
            Field{&T::contributes, "Contributes", sharp_bit(0, 23), 1},
            Field{&T::wants_result, "WantsResult", sharp_bit(0, 22), 1},
            Field{&T::streaming, "Streaming", sharp_bit(0, 21), 1},
            Field{&T::data_type, "DataType", sharp_bit(0, 15), 4},
            Field{&T::tag_type, "TagType", sharp_bit(0, 11), 4},
            Field{&T::reduce_op, "ReduceOp", sharp_bit(0, 7), 4},
            Field{&T::error, "Error", sharp_bit(0, 3), 4},
            Field{&T::tree_id, "TreeID", sharp_bit(1, 15), 16},
            Field{&T::group_id, "GroupID", sharp_bit(2, 23), 24},
            Field{&T::sequence, "Sequence", sharp_bit(3, 31), 32},
            Field{&T::offset, "Offset", sharp_bit(4, 31), 64},
            Field{&T::length, "Length", sharp_bit(6, 31), 32},
        };
    }
    friend bool operator==(const SharpDataHeader&, const SharpDataHeader&) = default;
};
static_assert(layout_is_sound<SharpDataHeader>());

}  // namespace softib::wire
