// SPDX-License-Identifier: BSD-2-Clause
#include "abi/rdmacm/fabric_names.h"

#include <cstdio>

#include "abi/rdmacm/daemon.h"
#include "runtime/shm/addresses.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/observe.h"

namespace softib::abi::rdmacm {

namespace {

/// Returns the fabric's arena, mapped read-only; nullptr if there is none. It stays mapped.
const shm::Arena* fabric() {
    static const shm::Arena arena = shm::observe(fabric_dir());
    return arena.base == nullptr ? nullptr : &arena;
}

}  // namespace

bool find_fabric_host(const char* name, char* out, std::size_t out_bytes) {
    const shm::Arena* const arena = fabric();
    const std::uint32_t host = arena == nullptr ? UINT32_MAX : shm::find_host(*arena, name);
    if (host == UINT32_MAX || arena->hosts[host].hca_count == 0) {
        return false;
    }
    const auto ip = shm::address_of_hca(*arena, arena->hosts[host].hca_first).bytes.bytes;
    const int n = std::snprintf(out, out_bytes, "%u.%u.%u.%u", ip[0], ip[1], ip[2], ip[3]);
    return n > 0 && static_cast<std::size_t>(n) < out_bytes;
}

}  // namespace softib::abi::rdmacm
