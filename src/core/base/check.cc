// SPDX-License-Identifier: BSD-2-Clause
#include "core/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace softib {

void check_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "softib: internal error: %s (%s:%d)\n", expression, file, line);
    std::abort();
}

}  // namespace softib
