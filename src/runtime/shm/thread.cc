// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <new>

namespace softib::live {

namespace {

std::atomic<std::uint32_t> g_own_threads{0};

struct Start {
    void* (*main)(void*);
    void* argument;
};

void* count_and_run(void* given) {
    const Start start = *static_cast<Start*>(given);
    delete static_cast<Start*>(given);
    g_own_threads.fetch_add(1);
    void* const result = start.main(start.argument);
    g_own_threads.fetch_sub(1);
    return result;
}

}  // namespace

std::uint32_t own_threads() {
    return g_own_threads.load();
}

void forget_own_threads() {
    g_own_threads.store(0);
}

bool start_thread(const char* name, void* (*main)(void*), void* argument) {
    sigset_t all;
    sigset_t old;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);  // bus_guard.h handles the SIGBUS of the thread's own copies.
    pthread_sigmask(SIG_SETMASK, &all, &old);
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, 256 * 1024);
    pthread_t thread;
    auto* const start = new (std::nothrow) Start{main, argument};
    const bool started =
        start != nullptr && pthread_create(&thread, &attr, count_and_run, start) == 0;
    if (started) {
        pthread_setname_np(thread, name);
    } else {
        delete start;
    }
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    return started;
}

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value, std::uint64_t timeout_ns) {
    timespec t{static_cast<time_t>(timeout_ns / 1'000'000'000),
               static_cast<long>(timeout_ns % 1'000'000'000)};
    syscall(SYS_futex, &word, FUTEX_WAIT, value, timeout_ns == 0 ? nullptr : &t, nullptr, 0);
}

void futex_wake(std::atomic<std::uint32_t>& word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace softib::live
