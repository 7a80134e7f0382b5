// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies between this program's memory and a mapping of a peer's file that the peer may truncate
// meanwhile. The kernel then raises SIGBUS, which would end this program for what another one did;
// our handler turns the signal into a failure of the copy, and passes every other SIGBUS on to the
// handler that was installed before. A handler that the program installs later replaces ours.

#include <cstddef>
#include <type_traits>

namespace softib::direct {

/// Installs the signal handler, which must happen before the first copy_guarded(). Returns false if
/// the handler cannot be installed.
bool bus_guard_install();

/// Copies in order of addresses (copy.h), where [guarded, guarded + length) is the mapping of the
/// peer's file. Returns false if the file has been truncated; some bytes may have been copied.
bool copy_guarded(void* to, const void* from, std::size_t bytes, const void* guarded,
                  std::size_t length);

/// Runs an operation that accesses the mapping [guarded, guarded + length) of a peer's file.
/// Returns false if the file has been truncated. The operation may be left in its middle, without
/// running destructors.
template <typename Operation>
bool run_guarded(Operation&& operation, const void* guarded, std::size_t length);

/// Does what run_guarded() does, for a function pointer and its argument.
bool run_guarded_call(void (*call)(void*), void* argument, const void* guarded, std::size_t length);

template <typename Operation>
bool run_guarded(Operation&& operation, const void* guarded, std::size_t length) {
    using Pointer = std::remove_reference_t<Operation>*;
    return run_guarded_call([](void* given) { (*static_cast<Pointer>(given))(); },
                            const_cast<void*>(static_cast<const void*>(&operation)), guarded,
                            length);
}

}  // namespace softib::direct
