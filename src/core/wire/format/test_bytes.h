// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Random bytes, for tests.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/prng.h"

namespace softib::wire {

using Bytes = std::vector<std::uint8_t>;

inline Bytes random_bytes(Prng& prng, std::size_t size) {
    Bytes bytes(size);
    std::ranges::generate(bytes, [&] { return static_cast<std::uint8_t>(prng.next()); });
    return bytes;
}

}  // namespace softib::wire
