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

// Returns its argument. Providers reserve an array on the stack for as many attributes as the real
// function returns: with a smaller number, a provider would overrun the array before it sees its
// command fail.
unsigned int softib_stub_argument(unsigned int argument) noexcept;

}  // extern "C"
