// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/process.h"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <new>

#include "runtime/direct/memory/memory.h"
#include "runtime/direct/qp_base.h"
#include "runtime/direct/service.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/thread.h"

namespace softib::direct {

namespace {

std::mutex g_mutex;
Process* g_process = nullptr;  // Leaked on purpose: threads may use it while the process exits.

}  // namespace

void ForkHandlers::prepare() {
    g_mutex.lock();
    if (g_process != nullptr) {
        g_process->regions->before_fork();
        g_process->progress.qps.lock_for_fork();
    }
}

void ForkHandlers::parent() {
    if (g_process != nullptr) {
        g_process->progress.qps.unlock_after_fork();
        g_process->regions->after_fork_in_parent();
    }
    g_mutex.unlock();
}

void ForkHandlers::child() {
    if (g_process != nullptr) {
        g_process->progress.qps.unlock_after_fork();
        g_process->regions->after_fork_in_child();
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

void Process::size_copy_team() {
    constexpr std::uint32_t kCopiesPerLook = 1024;
    if (large_copies_.fetch_add(1, std::memory_order_relaxed) % kCopiesPerLook != 0) {
        return;
    }
    // Tests and measurements set the number themselves.
    const char* text = std::getenv("SOFTIB_COPY_HELPERS");
    if (text != nullptr && text[0] >= '0' && text[0] <= '9' && text[1] == '\0') {
        copy_team.set_helpers(static_cast<std::uint32_t>(text[0] - '0'));
        return;
    }
    cpu_set_t cores;
    CPU_ZERO(&cores);
    if (sched_getaffinity(0, sizeof cores, &cores) != 0) {
        return;  // The machine has more cores than cpu_set_t holds: no helpers.
    }
    std::uint32_t processes = 0;
    for (std::uint32_t p = 0; p < procs_used(self.arena); ++p) {
        processes +=
            self.arena.procs[p].state.load(std::memory_order_relaxed) == shm::ProcState::kLive;
    }
    const auto count = static_cast<std::uint32_t>(CPU_COUNT(&cores));
    copy_team.set_helpers(CopyTeam::helpers_for(count, processes));
}

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
    const shm::Arena& arena = self.arena;
    shared_mappings.emplace(shared_mapper, arena, self.slot->peer_mappings);
    qp_table.init(arena.qp_batches, shm::kQpsMax, self.owner);
    mr_table.init(arena.mr_batches, shm::kMrsMax, self.owner);
    cq_table.init(arena.cq_batches, shm::kCqsMax, self.owner);
    srq_table.init(arena.srq_batches, shm::kSrqsMax, self.owner);
    memory.init(&arena, self.owner);
    regions = new MemoryMap(*this);
    enforces_memlock = std::getenv("SOFTIB_ENFORCE_MEMLOCK") != nullptr;
    self.slot->stripes_used.store(kServiceStripe + 1);
    return self.go_live();
}

void Process::become_inherited() {
    self.become_inherited();
    progress.qps.for_each([](QpBase& qp) { qp.disown(); });
    progress.stop_helper_in_child();
    shm::forget_own_threads();
}

void Process::remove_channel(std::uint32_t id, int fd) {
    if (self.usable()) {
        shm::channel_remove(self.process_dir, id, fd);
    } else {
        close(fd);
    }
}

shm::Stripe& Process::next_stripe() {
    const std::uint32_t n = stripe_counter_.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t index =
        kServiceStripe + 1 + n % (shm::kStripesPerProc - kServiceStripe - 1);
    std::uint32_t used = self.slot->stripes_used.load(std::memory_order_relaxed);
    while (used <= index && !self.slot->stripes_used.compare_exchange_weak(used, index + 1)) {
    }
    return self.slot->stripes[index];
}

std::uint32_t Process::take_domain() {
    constexpr unsigned kBits = 17;
    static_assert(std::uint64_t{shm::kProcsMax} << kBits < 0x80000000);
    if (!self.usable()) {
        return 0;
    }
    const std::lock_guard guard(domains_mutex_);
    if (domains_top_ + 1 < 1U << kBits) {
        return std::uint32_t{self.owner} << kBits | ++domains_top_;
    }
    if (domains_free_.empty()) {
        return 0;
    }
    const std::uint32_t id = domains_free_.front();
    domains_free_.pop_front();
    return id;
}

void Process::release_domain(std::uint32_t id) {
    if (self.usable()) {
        const std::lock_guard guard(domains_mutex_);
        domains_free_.push_back(id);
    }
}

}  // namespace softib::direct
