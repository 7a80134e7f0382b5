// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/copy.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace softib::direct {

namespace {

using Bulk = void (*)(char*, const char*, std::size_t);

#if defined(__x86_64__)

// The source is read with unaligned loads. One unaligned first block brings the destination to
// alignment; the loop then writes its last bytes again, with the same values.
__attribute__((target("avx512f"))) void bulk_avx512(char* d, const char* s, std::size_t n) {
    const std::size_t skew = (64 - (reinterpret_cast<std::uintptr_t>(d) & 63)) & 63;
    if (skew != 0) {
        _mm512_storeu_si512(d, _mm512_loadu_si512(s));
        d += skew;
        s += skew;
        n -= skew;
    }
    for (; n >= 256; n -= 256, d += 256, s += 256) {
        const __m512i a = _mm512_loadu_si512(s);
        const __m512i b = _mm512_loadu_si512(s + 64);
        const __m512i c = _mm512_loadu_si512(s + 128);
        const __m512i e = _mm512_loadu_si512(s + 192);
        _mm512_store_si512(d, a);
        _mm512_store_si512(d + 64, b);
        _mm512_store_si512(d + 128, c);
        _mm512_store_si512(d + 192, e);
    }
    for (; n >= 64; n -= 64, d += 64, s += 64) {
        _mm512_store_si512(d, _mm512_loadu_si512(s));
    }
    if (n != 0) {
        _mm512_storeu_si512(d + n - 64, _mm512_loadu_si512(s + n - 64));
    }
}

__attribute__((target("avx2"), always_inline)) inline __m256i load256(const char* p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
}

__attribute__((target("avx2"))) void bulk_avx2(char* d, const char* s, std::size_t n) {
    const std::size_t skew = (32 - (reinterpret_cast<std::uintptr_t>(d) & 31)) & 31;
    if (skew != 0) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d), load256(s));
        d += skew;
        s += skew;
        n -= skew;
    }
    for (; n >= 128; n -= 128, d += 128, s += 128) {
        const __m256i a = load256(s);
        const __m256i b = load256(s + 32);
        const __m256i c = load256(s + 64);
        const __m256i e = load256(s + 96);
        auto* p = reinterpret_cast<__m256i*>(d);
        _mm256_store_si256(p, a);
        _mm256_store_si256(p + 1, b);
        _mm256_store_si256(p + 2, c);
        _mm256_store_si256(p + 3, e);
    }
    for (; n >= 32; n -= 32, d += 32, s += 32) {
        _mm256_store_si256(reinterpret_cast<__m256i*>(d), load256(s));
    }
    if (n != 0) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(d + n - 32), load256(s + n - 32));
    }
}

#endif

/// Copies blocks in order on any machine, with a fence between them for machines that reorder
/// stores.
void bulk_portable(char* d, const char* s, std::size_t n) {
    for (; n >= 128; n -= 128, d += 128, s += 128) {
        std::memcpy(d, s, 120);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        std::memcpy(d + 120, s + 120, 8);
        __atomic_thread_fence(__ATOMIC_RELEASE);
    }
    for (; n >= 8; n -= 8, d += 8, s += 8) {
        std::memcpy(d, s, 8);
        __atomic_thread_fence(__ATOMIC_RELEASE);
    }
    if (n != 0) {
        std::memcpy(d, s, n);
    }
}

Bulk choose() {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f")) {
        return bulk_avx512;
    }
    if (__builtin_cpu_supports("avx2")) {
        return bulk_avx2;
    }
#endif
    return bulk_portable;
}

const Bulk g_bulk = choose();

}  // namespace

void copy_bulk_ordered(void* to, const void* from, std::size_t bytes) {
    g_bulk(static_cast<char*>(to), static_cast<const char*>(from), bytes);
    asm volatile("" ::: "memory");
}

}  // namespace softib::direct
