// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SOFTIB_CHECK stays on in production: a tripped check is a bug of ours, never bad input.

namespace softib {

[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace softib

#define SOFTIB_CHECK(expression)                                     \
    do {                                                             \
        if (!(expression)) [[unlikely]] {                            \
            ::softib::check_failed(#expression, __FILE__, __LINE__); \
        }                                                            \
    } while (false)
