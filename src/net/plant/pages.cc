// SPDX-License-Identifier: BSD-2-Clause
#include "net/plant/pages.h"

#include <sys/mman.h>

namespace softib::net {

void advise_huge(void* at, std::size_t bytes) {
    madvise(at, bytes, MADV_HUGEPAGE);
}

}  // namespace softib::net
