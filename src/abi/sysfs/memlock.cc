// SPDX-License-Identifier: BSD-2-Clause
//
// The limit on locked memory (RLIMIT_MEMLOCK). A real HCA pins registered memory, which counts
// against this limit, so programs query it and refuse to start if it is small. Nothing is pinned
// here: programs are told that there is no limit, and a limit that they set is only remembered in
// their process. With SOFTIB_ENFORCE_MEMLOCK the limit is that of the kernel, and registrations
// obey it.
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "abi/sysfs/next.h"

namespace softib::sysfs {

namespace {

static_assert(sizeof(rlim_t) == 8 && sizeof(rlimit) == sizeof(rlimit64));

constinit Next<int(int, rlimit*)> next_getrlimit{"getrlimit"};
constinit Next<int(int, const rlimit*)> next_setrlimit{"setrlimit"};
constinit Next<int(pid_t, int, const rlimit*, rlimit*)> next_prlimit{"prlimit"};

std::atomic<rlim_t> g_soft{RLIM_INFINITY};
std::atomic<rlim_t> g_hard{RLIM_INFINITY};

/// Looks up early what forked children may call.
__attribute__((constructor)) void find_early() {
    next_getrlimit.get();
    next_setrlimit.get();
    next_prlimit.get();
}

bool is_lifted(int resource) {
    return resource == RLIMIT_MEMLOCK && std::getenv("SOFTIB_DIR") != nullptr &&
           std::getenv("SOFTIB_ENFORCE_MEMLOCK") == nullptr;
}

void tell(rlimit& limit) {
    limit.rlim_cur = g_soft.load(std::memory_order_relaxed);
    limit.rlim_max = g_hard.load(std::memory_order_relaxed);
}

int set(const rlimit& limit) {
    if (limit.rlim_cur > limit.rlim_max) {
        errno = EINVAL;
        return -1;
    }
    // Also set in the kernel, as far as it allows, for mlock().
    const int saved = errno;
    next_setrlimit(RLIMIT_MEMLOCK, &limit);
    errno = saved;
    g_soft.store(limit.rlim_cur, std::memory_order_relaxed);
    g_hard.store(limit.rlim_max, std::memory_order_relaxed);
    return 0;
}

int getrlimit_common(int resource, rlimit* limit) {
    const int result = next_getrlimit(resource, limit);
    if (result == 0 && is_lifted(resource)) {
        tell(*limit);
    }
    return result;
}

int setrlimit_common(int resource, const rlimit* limit) {
    return limit != nullptr && is_lifted(resource) ? set(*limit) : next_setrlimit(resource, limit);
}

int prlimit_common(pid_t pid, int resource, const rlimit* limit, rlimit* old) {
    // Another process may be on no virtual host.
    if (!is_lifted(resource) || (pid != 0 && pid != getpid())) {
        return next_prlimit(pid, resource, limit, old);
    }
    if (old != nullptr) {
        tell(*old);
    }
    return limit != nullptr ? set(*limit) : 0;
}

}  // namespace

extern "C" {

int fs_getrlimit(int resource, rlimit* limit) SOFTIB_FS_EXPORT("getrlimit");
int fs_getrlimit64(int resource, rlimit* limit) SOFTIB_FS_EXPORT("getrlimit64");
int fs_setrlimit(int resource, const rlimit* limit) SOFTIB_FS_EXPORT("setrlimit");
int fs_setrlimit64(int resource, const rlimit* limit) SOFTIB_FS_EXPORT("setrlimit64");
int fs_prlimit(pid_t pid, int resource, const rlimit* limit, rlimit* old)
    SOFTIB_FS_EXPORT("prlimit");
int fs_prlimit64(pid_t pid, int resource, const rlimit* limit, rlimit* old)
    SOFTIB_FS_EXPORT("prlimit64");

int fs_getrlimit(int resource, rlimit* limit) {
    return getrlimit_common(resource, limit);
}
int fs_getrlimit64(int resource, rlimit* limit) {
    return getrlimit_common(resource, limit);
}
int fs_setrlimit(int resource, const rlimit* limit) {
    return setrlimit_common(resource, limit);
}
int fs_setrlimit64(int resource, const rlimit* limit) {
    return setrlimit_common(resource, limit);
}
int fs_prlimit(pid_t pid, int resource, const rlimit* limit, rlimit* old) {
    return prlimit_common(pid, resource, limit, old);
}
int fs_prlimit64(pid_t pid, int resource, const rlimit* limit, rlimit* old) {
    return prlimit_common(pid, resource, limit, old);
}

}  // extern "C"

}  // namespace softib::sysfs
