// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies whose bytes appear at the destination in the order of their addresses. Programs poll the
// end of a buffer, or a flag at the end of each line (NCCL's LL128), and must then find the bytes
// before it in place. x86 keeps stores in order, but the memcpy of a C library may write the head
// of a block after its tail, so large copies have loops of their own.

#include <cstdint>
#include <cstring>

namespace softib::direct {

/// Copies 64 or more bytes in order.
void copy_bulk_ordered(void* to, const void* from, std::size_t bytes);

/// Copies any number of bytes in order. Eight bytes at an aligned address appear at once.
inline void copy_ordered(void* to, const void* from, std::size_t bytes) {
    auto* d = static_cast<char*>(to);
    const auto* s = static_cast<const char*>(from);
    if (bytes >= 64) {
        copy_bulk_ordered(to, from, bytes);
        return;
    }
    if (bytes == 8) [[likely]] {
        std::uint64_t v;
        std::memcpy(&v, s, 8);
        __atomic_store_n(reinterpret_cast<std::uint64_t*>(d), v, __ATOMIC_RELEASE);
        return;
    }
    while (bytes > 16) {
        std::uint64_t a;
        std::uint64_t b;
        std::memcpy(&a, s, 8);
        std::memcpy(&b, s + 8, 8);
        std::memcpy(d, &a, 8);
        asm volatile("" ::: "memory");
        std::memcpy(d + 8, &b, 8);
        asm volatile("" ::: "memory");
        s += 16;
        d += 16;
        bytes -= 16;
    }
    if (bytes >= 8) {
        std::uint64_t a;
        std::uint64_t b;
        std::memcpy(&a, s, 8);
        std::memcpy(&b, s + bytes - 8, 8);
        std::memcpy(d, &a, 8);
        asm volatile("" ::: "memory");
        std::memcpy(d + bytes - 8, &b, 8);
    } else if (bytes >= 4) {
        std::uint32_t a;
        std::uint32_t b;
        std::memcpy(&a, s, 4);
        std::memcpy(&b, s + bytes - 4, 4);
        std::memcpy(d, &a, 4);
        asm volatile("" ::: "memory");
        std::memcpy(d + bytes - 4, &b, 4);
    } else {
        for (std::size_t i = 0; i < bytes; ++i) {
            d[i] = s[i];
            asm volatile("" ::: "memory");
        }
    }
    asm volatile("" ::: "memory");
}

}  // namespace softib::direct
