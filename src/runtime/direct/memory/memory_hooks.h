// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Takes the program's own madvise() and mremap() calls from the preloaded library (memory_calls.h),
// because they may concern pages that were swapped for arena pages. The library also calls us
// around a fork.

#include <cstddef>

#include "runtime/direct/memory_calls.h"

namespace softib::direct {

class MemoryMap;

struct MemoryHooks {
    /// Makes the program's calls come here. Cheap if that was done before.
    static void install(MemoryMap& map);
    /// Makes the program's calls go to the C library again. Called in a forked child.
    static void remove();

  private:
    static int madvise(void* at, std::size_t length, int advice, Madvise* really);
    static void* mremap(void* from, std::size_t old_size, std::size_t new_size, int flags, void* to,
                        Mremap* really);
};

}  // namespace softib::direct
