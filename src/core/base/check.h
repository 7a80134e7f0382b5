// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// SOFTIB_CHECK ends the process if its expression is false, in release builds too. A failed check
// is always a bug in softib, never bad input.

namespace softib {

[[noreturn]] void check_failed(const char* expression, const char* file, int line) noexcept;

}  // namespace softib

#define SOFTIB_CHECK(expression)                                     \
    do {                                                             \
        if (!(expression)) [[unlikely]] {                            \
            ::softib::check_failed(#expression, __FILE__, __LINE__); \
        }                                                            \
    } while (false)
