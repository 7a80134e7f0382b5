// SPDX-License-Identifier: BSD-2-Clause
#include "abi/verbs/stubs.h"

#include <cerrno>

extern "C" {

int softib_stub_errno() noexcept {
    errno = ENOSYS;
    return ENOSYS;
}

void* softib_stub_null() noexcept {
    errno = ENOSYS;
    return nullptr;
}

int softib_stub_minus1() noexcept {
    errno = ENOSYS;
    return -1;
}

std::uint64_t softib_stub_zero() noexcept {
    return 0;
}

void softib_stub_void() noexcept {}

unsigned int softib_stub_argument(unsigned int argument) noexcept {
    return argument;
}

}  // extern "C"
