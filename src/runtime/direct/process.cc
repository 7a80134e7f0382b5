// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/process.h"

#include <pthread.h>

#include <cerrno>
#include <new>

#include "runtime/direct/memory/memory.h"
#include "runtime/direct/qp_base.h"
#include "runtime/shm/thread.h"

namespace softib::direct {

namespace {

std::mutex g_mutex;
Process* g_process = nullptr;  // Leaked on purpose: threads may use it while the process exits.

}  // namespace

void ForkHandlers::prepare() {
    g_mutex.lock();
    if (g_process != nullptr) {
        g_process->memory.regions->before_fork();
        g_process->progress.qps.lock_for_fork();
    }
}

void ForkHandlers::parent() {
    if (g_process != nullptr) {
        g_process->progress.qps.unlock_after_fork();
        g_process->memory.regions->after_fork_in_parent();
    }
    g_mutex.unlock();
}

void ForkHandlers::child() {
    if (g_process != nullptr) {
        g_process->progress.qps.unlock_after_fork();
        g_process->memory.regions->after_fork_in_child();
        g_process->become_inherited();
        g_process = nullptr;
    }
    g_mutex.unlock();
}

namespace {

/// Installs the fork handlers when the library is loaded. The program installs its own later, so
/// they run before ours: if they stop threads that write, the child's copy of the memory is taken
/// after that.
__attribute__((constructor)) void install_fork_handlers() {
    pthread_atfork(ForkHandlers::prepare, ForkHandlers::parent, ForkHandlers::child);
}

}  // namespace

Process* Process::attach(const char* dir, const char* hosts) {
    const std::lock_guard guard(g_mutex);
    if (g_process != nullptr) {
        return g_process;
    }
    auto* process = new (std::nothrow) Process;
    if (process == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    if (!process->join(dir, hosts)) {
        const int saved = errno;
        delete process;
        errno = saved;
        return nullptr;
    }
    g_process = process;
    return process;
}

bool Process::join(const char* dir, const char* hosts) {
    if (!self.join(dir, hosts)) {
        return false;
    }
    tables.init();
    memory.init();
    return self.go_live();
}

void Process::become_inherited() {
    self.become_inherited();
    progress.qps.for_each([](QpBase& qp) { qp.disown(); });
    progress.stop_helper_in_child();
    shm::forget_own_threads();
}

}  // namespace softib::direct
