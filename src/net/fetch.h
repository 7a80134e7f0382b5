// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory that is fetched before its turn. A wrong guess only costs time, so that an index may lead
// anywhere.

#include <cstddef>
#include <cstdint>

namespace softib::net {

/// Without the empty statement GCC takes a function that only fetches for one without effect, and
/// leaves its calls out.
inline void fetch(const void* at) {
    __builtin_prefetch(at);
    asm volatile("");
}

/// Where the element of an array would be. Pointers may not leave their array, numbers may.
template <typename T>
const void* place_of(const T* first, std::size_t index) {
    return reinterpret_cast<const void*>(  // NOLINT(performance-no-int-to-ptr)
        reinterpret_cast<std::uintptr_t>(first) + index * sizeof(T));
}

}  // namespace softib::net
