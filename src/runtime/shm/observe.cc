// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/observe.h"

#include <unistd.h>

#include <map>
#include <mutex>
#include <string>

#include "runtime/shm/rpc.h"

namespace softib::shm {

Arena observe(const char* fabric_dir) {
    const int fd = fabric_dir == nullptr ? -1 : rpc_connect(fabric_dir);
    if (fd < 0) {
        return {};
    }
    Message message;
    request::OneFile arena;
    const bool answered = rpc_ask(fd, request::Observe{}, message, arena) == 0;
    close(fd);
    if (arena.file < 0) {
        return {};
    }
    const Arena mapped = answered ? arena_map(arena.file, false) : Arena{};
    if (mapped.base == nullptr) {
        close(arena.file);
    }
    return mapped;
}

const Arena& observe_for_life(const char* fabric_dir) {
    static std::mutex mutex;
    static std::map<std::string, Arena> arenas;
    const std::lock_guard guard(mutex);
    Arena& arena = arenas[fabric_dir];
    if (arena.base == nullptr) {
        arena = observe(fabric_dir);
    }
    return arena;
}

}  // namespace softib::shm
