// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/observe.h"

#include <unistd.h>

#include "runtime/shm/rpc.h"

namespace softib::live {

Arena observe(const char* fabric_dir) {
    const int fd = fabric_dir == nullptr ? -1 : rpc_connect(fabric_dir);
    if (fd < 0) {
        return {};
    }
    Message message;
    message.request = Request::kObserve;
    int arena_fd = -1;
    const bool answered = rpc_call(fd, message, &arena_fd) && message.status == 0;
    close(fd);
    if (arena_fd < 0) {
        return {};
    }
    const Arena mapped = answered ? arena_map(arena_fd, false) : Arena{};
    if (mapped.base == nullptr) {
        close(arena_fd);
    }
    return mapped;
}

}  // namespace softib::live
