// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Calls the kernel past the libraries that intercept such calls: our own preloaded library, which
// would pass the call back to us, and sanitizers, which need not see how we swap pages.

#include <cerrno>
#include <cstdint>
#include <type_traits>
#ifndef __x86_64__
#include <unistd.h>
#endif

namespace softib::shm {

/// Makes a system call. Returns its result, or -1 with errno, as syscall() does.
template <typename... Args>
long kernel_call(long number, Args... args) {
    static_assert(sizeof...(Args) <= 6);
#ifdef __x86_64__
    const auto word = [](auto value) {
        if constexpr (std::is_pointer_v<decltype(value)>) {
            return static_cast<long>(reinterpret_cast<std::intptr_t>(value));
        } else {
            return static_cast<long>(value);
        }
    };
    const long given[6] = {word(args)...};
    register long r10 __asm__("r10") = given[3];
    register long r8 __asm__("r8") = given[4];
    register long r9 __asm__("r9") = given[5];
    long result = number;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(given[0]), "S"(given[1]), "d"(given[2]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    if (result < 0 && result >= -4095) {
        errno = static_cast<int>(-result);
        return -1;
    }
    return result;
#else
    return syscall(number, args...);  // The preloaded library does not replace it here.
#endif
}

}  // namespace softib::shm
