// SPDX-License-Identifier: BSD-2-Clause
//
// Pinned pages and fork() conflict in hardware because the HCA keeps writing to the physical
// page that copy-on-write gave to one side only. We address memory by process and virtual address,
// so there is nothing to protect.
#include "abi/verbs/entry.h"

extern "C" {

int softib_ibv_fork_init() noexcept {
    return 0;
}

ibv_fork_status softib_ibv_is_fork_initialized() noexcept {
    return IBV_FORK_UNNEEDED;
}

int softib_ibv_dontfork_range(void* /*base*/, std::size_t /*size*/) noexcept {
    return 0;
}

int softib_ibv_dofork_range(void* /*base*/, std::size_t /*size*/) noexcept {
    return 0;
}

}  // extern "C"
