// SPDX-License-Identifier: BSD-2-Clause
//
// The stubs behind exported symbols that we do not implement: the private interface between
// libibverbs and its providers, and the pre-2007 ABI. They exist because a program that is bound at
// load time (most distributions do) does not start when one of them is missing. The generated
// trampolines jump here, so one stub serves functions of any signature with that return type.
#pragma once

#include <cstdint>

extern "C" {

int softib_stub_errno() noexcept;
void* softib_stub_null() noexcept;
int softib_stub_minus1() noexcept;
std::uint64_t softib_stub_zero() noexcept;
void softib_stub_void() noexcept;

// The number of attributes that a provider reserves on its stack for a command: too small a
// number would make it overrun that array before it sees the command fail.
unsigned int softib_stub_argument(unsigned int argument) noexcept;

}  // extern "C"
