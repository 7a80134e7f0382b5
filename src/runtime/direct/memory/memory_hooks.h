// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Takes the program's own calls on its memory, where they meet memory that is registered: from the
// library that is preloaded (memory_calls.h), and around a fork.

#include <cstddef>

#include "runtime/direct/memory_calls.h"

namespace softib::live {

class MemoryMap;

struct MemoryHooks {
    /// From now on the program's calls come here. Cheap when it was done before.
    static void install(MemoryMap& map);
    /// In a forked child: they go to the C library again.
    static void remove();

  private:
    static int madvise(void* at, std::size_t length, int advice, Madvise* really);
    static void* mremap(void* from, std::size_t old_size, std::size_t new_size, int flags, void* to,
                        Mremap* really);
};

}  // namespace softib::live
