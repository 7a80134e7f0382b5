// SPDX-License-Identifier: BSD-2-Clause
//
// Protection of registered memory at a fork, which softib does not need. A real HCA keeps writing
// to the physical page that it has pinned, which after copy-on-write may belong to the other
// process. Here, memory is addressed by process and virtual address.
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
