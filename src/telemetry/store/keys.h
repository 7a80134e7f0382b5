// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The key of a row in the database: ring (2 bits), chunk of ports (16), column (8), slot (36). In
// this order the rows that a plot over time needs are next to each other.

#include <cstddef>
#include <cstdint>

namespace softib::telemetry {

inline std::int64_t slot_key(std::size_t ring, std::uint32_t chunk, std::size_t column,
                             std::int64_t slot) {
    return static_cast<std::int64_t>(ring) << 60 | static_cast<std::int64_t>(chunk) << 44 |
           static_cast<std::int64_t>(column) << 36 | (slot & ((std::int64_t{1} << 36) - 1));
}

inline std::int64_t slot_of(std::int64_t key) {
    return key & ((std::int64_t{1} << 36) - 1);
}

}  // namespace softib::telemetry
