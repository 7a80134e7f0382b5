// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace softib::shm {

namespace {

std::atomic<std::uint32_t> g_own_threads{0};

/// What a new thread runs. It is on the stack of start_thread(), which waits until the thread has
/// read it.
struct Start {
    void* (*main)(void*);
    void* argument;
    std::atomic<std::uint32_t> is_read{0};
};

/// Makes the C library give this thread its own part of the heap, which it maps.
void prepare_heap() {
    void* volatile memory = std::malloc(1);
    std::free(memory);
}

void* count_and_run(void* given) {
    auto& start = *static_cast<Start*>(given);
    void* (*const main)(void*) = start.main;
    void* const argument = start.argument;
    prepare_heap();
    g_own_threads.fetch_add(1);
    start.is_read.store(1, std::memory_order_release);
    futex_wake(start.is_read);
    void* const result = main(argument);
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
    Start start{.main = main, .argument = argument};
    const bool started = pthread_create(&thread, &attr, count_and_run, &start) == 0;
    if (started) {
        pthread_setname_np(thread, name);
        while (start.is_read.load(std::memory_order_acquire) == 0) {
            futex_wait(start.is_read, 0, 0);
        }
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

}  // namespace softib::shm
