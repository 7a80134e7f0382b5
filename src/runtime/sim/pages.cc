// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/sim/pages.h"

#include <sys/mman.h>

namespace softib::sim {

void advise_huge(void* at, std::size_t bytes) {
    madvise(at, bytes, MADV_HUGEPAGE);
}

}  // namespace softib::sim
