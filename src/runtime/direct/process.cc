// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/process.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "runtime/direct/memory/memory.h"
#include "runtime/direct/qp_base.h"
#include "runtime/direct/service.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/thread.h"

namespace softib::live {

namespace {

std::mutex g_mutex;
Process* g_process = nullptr;  // Leaked on purpose: threads may use it while the process exits.

std::uint64_t pid_namespace() {
    struct stat st{};
    return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

}  // namespace

void ForkHandlers::prepare() {
    g_mutex.lock();
    if (g_process != nullptr) {
        g_process->regions->before_fork();
        g_process->qps_mutex.lock();
    }
}

void ForkHandlers::parent() {
    if (g_process != nullptr) {
        g_process->qps_mutex.unlock();
        g_process->regions->after_fork_in_parent();
    }
    g_mutex.unlock();
}

void ForkHandlers::child() {
    if (g_process != nullptr) {
        g_process->qps_mutex.unlock();
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
    for (std::uint32_t p = 0; p < procs_used(arena); ++p) {
        processes += arena.procs[p].state.load(std::memory_order_relaxed) == ProcState::kLive;
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
    if (dir == nullptr || hosts == nullptr || *dir == '\0' || std::strlen(hosts) >= kTextMax) {
        errno = ENODEV;
        return false;
    }
    socket_ = rpc_connect(dir);
    if (socket_ < 0) {
        return false;
    }
    Message message;
    request::Attach::Reply reply;
    int error = rpc_ask(socket_, request::Attach{.hosts = hosts}, message, reply);
    if (error == 0) {
        arena = arena_map(reply.file, true);
        error = arena.base == nullptr ? errno : 0;
    }
    if (error != 0 || reply.owner == 0 || reply.owner > kProcsMax) {
        close(socket_);
        errno = error != 0 ? error : EPROTO;
        return false;
    }
    owner = static_cast<Owner>(reply.owner);
    arena.self = owner;
    slot = &arena.proc(owner);
    shared_mappings.emplace(shared_mapper, arena, slot->peer_mappings);
    lock_word = live::lock_word(arena, owner);
    slot->page_swaps.store(0);  // The slot's last process may have died while it was odd.
    fabric_dir = dir;
    process_dir = process_directory(fabric_dir, arena, owner);
    directory_ = open(process_dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    flock(directory_, LOCK_SH);
    devices.resize(kDevicesPerProc);
    devices.resize(list_devices(arena, hosts, devices));
    qp_table.init(arena.qp_batches, kQpsMax, owner);
    mr_table.init(arena.mr_batches, kMrsMax, owner);
    cq_table.init(arena.cq_batches, kCqsMax, owner);
    srq_table.init(arena.srq_batches, kSrqsMax, owner);
    memory.init(&arena, owner);
    channels.init(fabric_dir, &arena);
    regions = new MemoryMap(*this);
    hazard_fence = !grace_register();
    enforces_memlock = std::getenv("SOFTIB_ENFORCE_MEMLOCK") != nullptr;
    // Lets peers copy to and from this process's memory even if Yama restricts ptrace.
    prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    slot->pid = static_cast<std::uint32_t>(getpid());
    slot->pid_namespace = pid_namespace();
    slot->stripes_used.store(kServiceStripe + 1);
    if (!hold_life_lock(arena, owner)) {
        return false;
    }
    slot->state.store(ProcState::kLive, std::memory_order_release);
    return true;
}

void Process::become_inherited() {
    inherited_.store(true, std::memory_order_relaxed);
    // The daemon takes the open connection as a sign that the parent lives: the child must not keep
    // it open.
    close(socket_);
    socket_ = -1;
    close(directory_);
    directory_ = -1;
    for (QpBase* qp : qps) {
        qp->disown();
    }
    stop_helper_in_child();
    forget_own_threads();
}

void Process::remove_channel(std::uint32_t id, int fd) {
    if (usable()) {
        channel_remove(process_dir, id, fd);
    } else {
        close(fd);
    }
}

Stripe& Process::next_stripe() {
    const std::uint32_t n = stripe_counter_.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t index = kServiceStripe + 1 + n % (kStripesPerProc - kServiceStripe - 1);
    std::uint32_t used = slot->stripes_used.load(std::memory_order_relaxed);
    while (used <= index && !slot->stripes_used.compare_exchange_weak(used, index + 1)) {
    }
    return slot->stripes[index];
}

std::uint32_t Process::take_domain() {
    constexpr unsigned kBits = 17;
    static_assert(std::uint64_t{kProcsMax} << kBits < 0x80000000);
    if (!usable()) {
        return 0;
    }
    const std::lock_guard guard(domains_mutex_);
    if (domains_top_ + 1 < 1U << kBits) {
        return std::uint32_t{owner} << kBits | ++domains_top_;
    }
    if (domains_free_.empty()) {
        return 0;
    }
    const std::uint32_t id = domains_free_.front();
    domains_free_.pop_front();
    return id;
}

void Process::release_domain(std::uint32_t id) {
    if (usable()) {
        const std::lock_guard guard(domains_mutex_);
        domains_free_.push_back(id);
    }
}

}  // namespace softib::live
