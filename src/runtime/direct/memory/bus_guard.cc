// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/memory/bus_guard.h"

#include <setjmp.h>
#include <signal.h>

#include <cstdint>

#include "runtime/direct/memory/copy.h"

namespace softib::direct {

namespace {

struct Guard {
    std::uintptr_t begin;
    std::uintptr_t end;
    sigjmp_buf back;
};

thread_local Guard* volatile t_guard = nullptr;
struct sigaction g_previous;

void on_bus_error(int number, siginfo_t* info, void* context) {
    const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
    if (Guard* const guard = t_guard; guard != nullptr && at >= guard->begin && at < guard->end) {
        siglongjmp(guard->back, 1);
    }
    if ((g_previous.sa_flags & SA_SIGINFO) != 0) {
        g_previous.sa_sigaction(number, info, context);
    } else if (g_previous.sa_handler != SIG_DFL && g_previous.sa_handler != SIG_IGN) {
        g_previous.sa_handler(number);
    } else {
        // After the return, the access is repeated and has the effect it would have had without us.
        sigaction(SIGBUS, &g_previous, nullptr);
    }
}

}  // namespace

bool bus_guard_install() {
    static const bool installed = [] {
        struct sigaction action{};
        action.sa_sigaction = on_bus_error;
        action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        return sigaction(SIGBUS, nullptr, &g_previous) == 0 &&
               sigaction(SIGBUS, &action, nullptr) == 0;
    }();
    return installed;
}

bool run_guarded_call(void (*call)(void*), void* argument, const void* guarded,
                      std::size_t length) {
    Guard guard;
    guard.begin = reinterpret_cast<std::uintptr_t>(guarded);
    guard.end = guard.begin + length;
    if (sigsetjmp(guard.back, 0) != 0) {
        t_guard = nullptr;
        return false;
    }
    t_guard = &guard;
    call(argument);
    t_guard = nullptr;
    return true;
}

bool copy_guarded(void* to, const void* from, std::size_t bytes, const void* guarded,
                  std::size_t length) {
    return run_guarded([&] { copy_ordered(to, from, bytes); }, guarded, length);
}

}  // namespace softib::direct
