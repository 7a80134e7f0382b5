// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SharpAnInfo: the capabilities of an aggregation node, and the sizes of its tables.

#include <cstddef>
#include <cstdint>

#include "core/wire/format/layout.h"
#include "core/wire/sharp/sharp.h"

namespace softib::wire {

/// Bits of data types. Types of 32 and 64 bits have none, since every node supports them.
namespace sharp_data_types {
inline constexpr std::uint8_t kU16 = 1;
inline constexpr std::uint8_t kI16 = 2;
inline constexpr std::uint8_t kF16 = 4;
inline constexpr std::uint8_t kU8 = 8;
inline constexpr std::uint8_t kBf16 = 16;
inline constexpr std::uint8_t kI8 = 32;
}  // namespace sharp_data_types

struct SharpAnInfo {
    static constexpr std::size_t kBytes = 76;

    bool reproducibility_disable = false;
    std::uint8_t active_class_version = kSharpClassVersion;
    bool streaming_supported = false;
    std::uint16_t tree_table_size = 0;
    std::uint8_t tree_radix = 0;
    std::uint8_t tree_radix_used = 0;
    std::uint16_t versions_supported = 0;
    std::uint16_t versions_active = 0;
    std::uint32_t group_table_size = 0;
    std::uint32_t max_group_num = 0;
    std::uint16_t operation_table_size = 0;
    std::uint8_t max_aggregation_payload = 0;  ///< In lines of `line_size`.
    std::uint8_t num_semaphores = 0;           ///< The number of groups that may stream at a time.
    std::uint16_t streaming_operations = 0;
    std::uint32_t operation_buffer_size = 0;  ///< In lines of `line_size`.
    std::uint32_t num_of_jobs = 0;
    std::uint16_t max_num_qps = 0;
    std::uint16_t max_llt_qps = 0;
    std::uint16_t line_size = 0;  ///< In bytes; 0 means 32.
    std::uint8_t data_types = 0;  ///< Bits of sharp_data_types.
    std::uint8_t streaming_mtus = 0;

    static constexpr auto fields() {
        using T = SharpAnInfo;
        return Fields{
            Field{&T::reproducibility_disable, "ReproducibilityDisable", sharp_bit(0, 2), 1},
            Field{&T::active_class_version, "ActiveClassVersion", sharp_bit(0, 15), 8},
            Field{&T::streaming_supported, "StreamingAggregationSupported", sharp_bit(0, 31), 1},
            Field{&T::tree_table_size, "TreeTableSize", sharp_bit(1, 15), 16},
            Field{&T::tree_radix, "TreeRadix", sharp_bit(2, 7), 8},
            Field{&T::tree_radix_used, "TreeRadixUsed", sharp_bit(2, 23), 8},
            Field{&T::versions_supported, "SharpVersionsSupported", sharp_bit(3, 15), 16}.hex(),
            Field{&T::versions_active, "SharpVersionsActive", sharp_bit(3, 31), 16}.hex(),
            Field{&T::group_table_size, "GroupTableSize", sharp_bit(4, 23), 24},
            Field{&T::max_group_num, "MaxGroupNum", sharp_bit(5, 31), 32},
            Field{&T::operation_table_size, "OutstandingOperationTableSize", sharp_bit(6, 15), 16},
            Field{&T::max_aggregation_payload, "MaxAggregationPayload", sharp_bit(6, 31), 8},
            Field{&T::num_semaphores, "NumSemaphores", sharp_bit(7, 7), 8},
            Field{&T::streaming_operations, "StreamingOutstandingOperations", sharp_bit(7, 31), 16},
            Field{&T::operation_buffer_size, "OperationBufferSize", sharp_bit(8, 23), 24},
            Field{&T::num_of_jobs, "NumOfJobs", sharp_bit(9, 23), 24},
            Field{&T::max_num_qps, "MaxNumQPs", sharp_bit(10, 15), 16},
            Field{&T::max_llt_qps, "MaxLLTQPs", sharp_bit(10, 31), 16},
            Field{&T::line_size, "LineSize", sharp_bit(11, 15), 16},
            Field{&T::data_types, "DataTypes", sharp_bit(16, 7), 8}.hex(),
            Field{&T::streaming_mtus, "StreamingMTUs", sharp_bit(16, 23), 8}.hex(),
        };
    }
    friend bool operator==(const SharpAnInfo&, const SharpAnInfo&) = default;
};
static_assert(layout_is_sound<SharpAnInfo>());

}  // namespace softib::wire
