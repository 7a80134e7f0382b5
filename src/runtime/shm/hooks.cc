// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/hooks.h"

#ifdef SOFTIB_TEST_HOOKS

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace softib::shm {

namespace {

/// SOFTIB_TEST_PARK as "POINT:COUNT:FILE": the thread that passes POINT for the COUNT-th time makes
/// FILE, for which the test waits, and sleeps until it is killed.
struct Plan {
    int point = 0;
    long count = 0;
    char file[256] = {};
    Plan() {
        const char* text = std::getenv("SOFTIB_TEST_PARK");
        if (text == nullptr || std::sscanf(text, "%d:%ld:%255s", &point, &count, file) != 3) {
            point = 0;
        }
    }
};

}  // namespace

void park_point(ParkPoint point) {
    static const Plan plan;
    static std::atomic<long> passages{0};
    if (plan.point != static_cast<int>(point) || passages.fetch_add(1) + 1 != plan.count) {
        return;
    }
    close(open(plan.file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    for (;;) {
        pause();
    }
}

}  // namespace softib::shm

#endif
