// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies between this program's memory and a mapping of a peer's file that the peer may cut short
// meanwhile. The kernel then raises SIGBUS, which would end the program for what another one did; a
// handler of ours turns it into a failure of the copy. Every other SIGBUS goes to the handler that
// was there before. A handler that the program installs after ours replaces it.

#include <cstddef>
#include <type_traits>

namespace softib::live {

/// Installs the guard; call it before the first copy_guarded(). Returns false if there can be none.
bool bus_guard_install();

/// Copies in order (copy.h). [guarded, guarded + length) is the mapping. Returns false if its file
/// has been cut short; some bytes may have been copied.
bool copy_guarded(void* to, const void* from, std::size_t bytes, const void* guarded,
                  std::size_t length);

/// Runs an atomic operation on a word of the mapping. Returns false as above.
template <typename Operation>
bool run_guarded(Operation&& operation, const void* guarded, std::size_t length);

/// What a guard needs; for run_guarded.
bool run_guarded_call(void (*call)(void*), void* argument, const void* guarded, std::size_t length);

template <typename Operation>
bool run_guarded(Operation&& operation, const void* guarded, std::size_t length) {
    using Pointer = std::remove_reference_t<Operation>*;
    return run_guarded_call([](void* given) { (*static_cast<Pointer>(given))(); },
                            const_cast<void*>(static_cast<const void*>(&operation)), guarded,
                            length);
}

}  // namespace softib::live
