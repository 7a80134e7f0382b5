// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Prefetching of memory. A wrong guess only costs time, so an index may point anywhere.

#include <cstddef>
#include <cstdint>

namespace softib::net {

/// Prefetches a cache line. Without the empty statement, GCC takes a function that only prefetches
/// for one without effect, and removes calls of it.
inline void fetch(const void* at) {
    __builtin_prefetch(at);
    asm volatile("");
}

/// Returns where the element of an array would be. It computes with integers, since a pointer may
/// not leave its array.
template <typename T>
const void* place_of(const T* first, std::size_t index) {
    return reinterpret_cast<const void*>(  // NOLINT(performance-no-int-to-ptr)
        reinterpret_cast<std::uintptr_t>(first) + index * sizeof(T));
}

}  // namespace softib::net
