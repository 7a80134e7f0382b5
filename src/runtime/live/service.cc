// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/service.h"

#include <sched.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/live/client.h"
#include "runtime/live/hooks.h"
#include "runtime/live/remote.h"
#include "runtime/live/shm_lock.h"

namespace softib::live {

namespace {

/// A helper that does not answer for so long counts as dead (it may be stopped).
constexpr std::uint64_t kAnswerLimitNs = 2'000'000'000;

ServiceCall* claim_call(Process& process, Owner target) {
    ProcSlot& slot = process.arena.proc(target);
    const std::uint64_t start = monotonic_ns();
    for (;;) {
        for (ServiceCall& call : slot.calls) {
            std::uint32_t idle = ServiceCall::kIdle;
            if (call.state.compare_exchange_strong(idle, ServiceCall::kClaimed,
                                                   std::memory_order_acquire)) {
                call.caller = process.owner;
                return &call;
            }
            // A caller that died in the middle leaves its entry behind.
            std::uint32_t state = call.state.load(std::memory_order_acquire);
            if ((state == ServiceCall::kClaimed || state == ServiceCall::kDone) &&
                call.caller != process.owner && call.caller != 0 &&
                !owner_alive(process.arena, static_cast<Owner>(call.caller)) &&
                call.state.compare_exchange_strong(state, ServiceCall::kClaimed)) {
                call.caller = process.owner;
                return &call;
            }
        }
        if (monotonic_ns() - start > kAnswerLimitNs) {
            return nullptr;
        }
        sched_yield();
    }
}

bool wait_answer(Process& process, Owner target, ServiceCall& call) {
    const std::uint64_t start = monotonic_ns();
    std::uint64_t checked = start;
    for (std::uint32_t spins = 0; call.state.load(std::memory_order_acquire) != ServiceCall::kDone; ++spins) {
        if (spins < 200) {
            cpu_relax();
            continue;
        }
        sched_yield();
        const std::uint64_t t = monotonic_ns();
        if (t - checked > 1'000'000) {
            checked = t;
            if (!owner_alive(process.arena, target)) {
                return false;
            }
            std::uint32_t posted = ServiceCall::kPosted;
            if (t - start > kAnswerLimitNs &&
                call.state.compare_exchange_strong(posted, ServiceCall::kClaimed)) {
                return false;  // Taken back before the helper looked at it.
            }
        }
    }
    return call.status == 0;
}

/// The program may have unmapped the memory: a system call reports that instead of a fault.
int copy_self(void* to, const void* from, std::uint64_t length) {
    iovec local{to, length};
    iovec remote{const_cast<void*>(from), length};
    const ssize_t moved = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (moved == static_cast<ssize_t>(length)) {
        return 0;
    }
    if (moved < 0 && (errno == ENOSYS || errno == EPERM)) {
        copy_ordered(to, from, length);  // Not permitted here; trust the registration.
        return 0;
    }
    return EFAULT;
}

void run_call(Process& process, ServiceCall& call) {
    auto* at = reinterpret_cast<void*>(call.address);
    void* bounce = process.arena.base + call.bounce_off;
    switch (call.op) {
        case ServiceCall::kRead:
            call.status = static_cast<std::uint32_t>(copy_self(bounce, at, call.length));
            break;
        case ServiceCall::kWrite:
            call.status = static_cast<std::uint32_t>(copy_self(at, bounce, call.length));
            break;
        case ServiceCall::kFetchAdd:
        case ServiceCall::kCompareSwap: {
            std::uint64_t probe = 0;
            call.status = static_cast<std::uint32_t>(copy_self(&probe, at, sizeof probe));
            if (call.status == 0) {
                call.result = execute_atomic(at, call.op == ServiceCall::kCompareSwap, call.operand[0],
                                             call.operand[1]);
            }
            break;
        }
        default:
            call.status = EINVAL;
    }
}

}  // namespace

bool service_call(Process& process, Owner target, ServiceCall::Op op, std::uint64_t address, void* data,
                  std::uint64_t length, const std::uint64_t operand[2], std::uint64_t* result) {
    if (process.arena.proc(target).helper_ready.load(std::memory_order_acquire) == 0) {
        return false;
    }
    std::uint64_t bounce = 0;
    if (length != 0) {
        bounce = process.memory.allocate(length);
        if (bounce == 0) {
            return false;
        }
    }
    ServiceCall* call = claim_call(process, target);
    if (call == nullptr) {
        if (bounce != 0) {
            process.memory.release(bounce, length);
        }
        return false;
    }
    park_point(ParkPoint::kServiceClaimed);
    call->op = op;
    call->address = address;
    call->length = length;
    call->bounce_off = bounce;
    call->status = 0;
    if (operand != nullptr) {
        call->operand[0] = operand[0];
        call->operand[1] = operand[1];
    }
    if (op == ServiceCall::kWrite) {
        std::memcpy(process.arena.base + bounce, data, length);
    }
    call->state.store(ServiceCall::kPosted, std::memory_order_release);
    park_point(ParkPoint::kServicePosted);
    process.ring(target);
    const bool ok = wait_answer(process, target, *call);
    if (ok && op == ServiceCall::kRead) {
        copy_ordered(data, process.arena.base + bounce, length);
    }
    if (ok && result != nullptr) {
        *result = call->result;
    }
    const bool running = call->state.load(std::memory_order_acquire) == ServiceCall::kRunning;
    if (!running) {
        call->state.store(ServiceCall::kIdle, std::memory_order_release);
    }
    if (bounce != 0 && !running) {
        process.memory.release(bounce, length);
    }
    return ok;
}

void service_run(Process& process) {
    for (ServiceCall& call : process.slot->calls) {
        std::uint32_t posted = ServiceCall::kPosted;
        if (call.state.load(std::memory_order_relaxed) == ServiceCall::kPosted &&
            call.state.compare_exchange_strong(posted, ServiceCall::kRunning, std::memory_order_acquire)) {
            park_point(ParkPoint::kServiceRunning);
            run_call(process, call);
            call.state.store(ServiceCall::kDone, std::memory_order_release);
        }
    }
}

}  // namespace softib::live
