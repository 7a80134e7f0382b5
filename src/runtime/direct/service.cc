// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/service.h"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/direct/memory/remote.h"
#include "runtime/direct/process.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/hooks.h"
#include "runtime/shm/shm_lock.h"

namespace softib::direct {

namespace {

/// How long to wait for a helper thread, which may be stopped, before it counts as dead.
constexpr std::uint64_t kAnswerLimitNs = 2'000'000'000;

constexpr std::uint64_t word_of(shm::ServiceCall::State state, shm::LockWord caller) {
    return state == shm::ServiceCall::kIdle
               ? 0
               : caller | std::uint64_t{state} << shm::ServiceCall::kStateShift;
}

std::uint64_t state_in(std::uint64_t word) {
    return word >> shm::ServiceCall::kStateShift;
}
shm::LockWord caller_in(std::uint64_t word) {
    return static_cast<shm::LockWord>(word);
}

shm::ServiceCall* claim_call(Process& process, shm::Owner target) {
    shm::ProcSlot& slot = process.self.arena.proc(target);
    const std::uint64_t start = shm::monotonic_ns();
    for (;;) {
        for (shm::ServiceCall& call : slot.calls) {
            std::uint64_t word = call.state.load(std::memory_order_acquire);
            // An entry whose caller has died can be taken, unless the helper is still executing it.
            const bool abandoned = word != 0 && state_in(word) != shm::ServiceCall::kRunning &&
                                   state_in(word) != shm::ServiceCall::kAbandoned &&
                                   caller_in(word) != process.self.lock_word &&
                                   !holder_alive(process.self.arena, caller_in(word));
            if ((word == 0 || abandoned) &&
                call.state.compare_exchange_strong(
                    word, word_of(shm::ServiceCall::kClaimed, process.self.lock_word),
                    std::memory_order_acquire)) {
                return &call;
            }
        }
        if (shm::monotonic_ns() - start > kAnswerLimitNs ||
            !owner_alive(process.self.arena, target)) {
            return nullptr;
        }
        sched_yield();
    }
}

enum class Answer : std::uint8_t { kYes, kNo, kNone, kNoneAndRunning };

Answer wait_answer(Process& process, shm::Owner target, shm::ServiceCall& call) {
    const std::uint64_t start = shm::monotonic_ns();
    const auto word = [&](shm::ServiceCall::State state) {
        return word_of(state, process.self.lock_word);
    };
    const std::uint64_t done = word(shm::ServiceCall::kDone);
    std::uint64_t checked = start;
    for (std::uint32_t spins = 0; call.state.load(std::memory_order_acquire) != done; ++spins) {
        if (spins < 200) {
            shm::cpu_relax();
            continue;
        }
        // The process that we wait for may be waiting for us. Attention stays set, because it may
        // ask for other things than service calls.
        if (process.self.slot->attention.load(std::memory_order_relaxed) != 0) {
            service_run(process);
        }
        sched_yield();
        const std::uint64_t t = shm::monotonic_ns();
        if (t - checked < 1'000'000) {
            continue;
        }
        checked = t;
        if (!owner_alive(process.self.arena, target)) {
            return Answer::kNone;
        }
        if (t - start > kAnswerLimitNs) {
            std::uint64_t posted = word(shm::ServiceCall::kPosted);
            if (call.state.compare_exchange_strong(posted, word(shm::ServiceCall::kClaimed))) {
                return Answer::kNone;  // Taken back before the helper started it.
            }
            std::uint64_t running = word(shm::ServiceCall::kRunning);
            if (call.state.compare_exchange_strong(running, word(shm::ServiceCall::kAbandoned))) {
                return Answer::kNoneAndRunning;
            }
        }
    }
    return call.status == 0 ? Answer::kYes : Answer::kNo;
}

/// Copies within this process by a system call, which fails where a plain copy would crash: the
/// program may have unmapped the memory. Returns 0 or an errno value.
int copy_self(const Process& process, void* to, const void* from, std::uint64_t length) {
    iovec local{to, length};
    iovec remote{const_cast<void*>(from), length};
    const int error = copy_by_system(*process.self.slot, *process.self.slot, length, [&] {
        // By number, because a sanitizer's wrapper does not see the order between our threads and
        // the peer, and would report a race. Counts and flags are as wide as the kernel reads them:
        // beside an int on the stack it would read four bytes that nobody wrote.
        return syscall(SYS_process_vm_readv, getpid(), &local, 1UL, &remote, 1UL, 0UL);
    });
    if (error == ENOSYS || error == EPERM) {
        copy_ordered(to, from, length);  // The system call is forbidden: trust the registration.
        return 0;
    }
    return error;
}

void run_gpu_call(Process& process, shm::ServiceCall& call, void* bounce) {
    int error = EINVAL;
    if (call.op == shm::ServiceCall::kRead || call.op == shm::ServiceCall::kWrite) {
        error = process.memory.gpu.serve_copy(call.op == shm::ServiceCall::kWrite, call.address,
                                              bounce, call.length);
    } else if (call.op == shm::ServiceCall::kFetchAdd ||
               call.op == shm::ServiceCall::kCompareSwap) {
        error =
            process.memory.gpu.serve_atomic(call.address, call.op == shm::ServiceCall::kCompareSwap,
                                            call.operand[0], call.operand[1], call.result);
    }
    call.status = static_cast<std::uint32_t>(error);
}

void run_call(Process& process, shm::ServiceCall& call) {
    auto* at = reinterpret_cast<void*>(call.address);
    void* bounce = process.self.arena.base + call.bounce_off;
    if (process.memory.gpu.is_registered(call.address)) {
        run_gpu_call(process, call, bounce);
        return;
    }
    switch (call.op) {
        case shm::ServiceCall::kRead:
            call.status = static_cast<std::uint32_t>(copy_self(process, bounce, at, call.length));
            break;
        case shm::ServiceCall::kWrite:
            call.status = static_cast<std::uint32_t>(copy_self(process, at, bounce, call.length));
            break;
        case shm::ServiceCall::kFetchAdd:
        case shm::ServiceCall::kCompareSwap: {
            std::uint64_t probe = 0;
            call.status = static_cast<std::uint32_t>(copy_self(process, &probe, at, sizeof probe));
            if (call.status == 0) {
                call.result = execute_atomic(at, call.op == shm::ServiceCall::kCompareSwap,
                                             call.operand[0], call.operand[1]);
            }
            break;
        }
        default:
            call.status = EINVAL;
    }
}

}  // namespace

bool service_call(Process& process, shm::Owner target, shm::ServiceCall::Op op,
                  std::uint64_t address, void* data, std::uint64_t length,
                  const std::uint64_t operand[2], std::uint64_t* result) {
    errno = EFAULT;
    if (process.self.arena.proc(target).helper_ready.load(std::memory_order_acquire) == 0) {
        return false;
    }
    std::uint64_t bounce = 0;
    if (length != 0) {
        bounce = process.memory.chunks.allocate(length);
        if (bounce == 0) {
            return false;
        }
    }
    shm::ServiceCall* call = claim_call(process, target);
    if (call == nullptr) {
        if (bounce != 0) {
            process.memory.chunks.release(bounce, length);
        }
        errno = ETIMEDOUT;
        return false;
    }
    park_point(shm::ParkPoint::kServiceClaimed);
    call->op = op;
    call->address = address;
    call->length = length;
    call->bounce_off = bounce;
    call->status = 0;
    if (operand != nullptr) {
        call->operand[0] = operand[0];
        call->operand[1] = operand[1];
    }
    if (op == shm::ServiceCall::kWrite) {
        std::memcpy(process.self.arena.base + bounce, data, length);
    }
    call->state.store(word_of(shm::ServiceCall::kPosted, process.self.lock_word),
                      std::memory_order_release);
    park_point(shm::ParkPoint::kServicePosted);
    process.self.ring(target);
    const Answer answer = wait_answer(process, target, *call);
    if (answer == Answer::kNoneAndRunning) {
        errno = ETIMEDOUT;
        return false;  // The helper may still use the bounce buffer, which is never freed.
    }
    if (answer == Answer::kYes && op == shm::ServiceCall::kRead) {
        copy_ordered(data, process.self.arena.base + bounce, length);
    }
    if (answer == Answer::kYes && result != nullptr) {
        *result = call->result;
    }
    errno = answer == Answer::kNone ? ETIMEDOUT : static_cast<int>(call->status);
    call->state.store(0, std::memory_order_release);
    if (bounce != 0) {
        const int saved = errno;
        process.memory.chunks.release(bounce, length);
        errno = saved;
    }
    return answer == Answer::kYes;
}

void service_run(Process& process) {
    shm::Stripe& stripe = process.self.slot->stripes[kServiceStripe];
    stripe.lock.lock();
    for (shm::ServiceCall& call : process.self.slot->calls) {
        std::uint64_t word = call.state.load(std::memory_order_relaxed);
        const shm::LockWord caller = caller_in(word);
        if (state_in(word) != shm::ServiceCall::kPosted ||
            !call.state.compare_exchange_strong(word, word_of(shm::ServiceCall::kRunning, caller),
                                                std::memory_order_acquire)) {
            continue;
        }
        // The caller's hazard protects our memory and its buffer only while the caller lives. Our
        // own hazard keeps the daemon from freeing the buffer, and makes a deregistration in this
        // process wait. So if the caller is alive after this store, it may die later.
        const shm::Hazard hazard(stripe, static_cast<shm::Owner>(caller),
                                 process.self.hazard_fence);
        park_point(shm::ParkPoint::kServiceRunning);
        if (holder_alive(process.self.arena, caller)) {
            run_call(process, call);
        } else {
            call.status = ESRCH;
        }
        std::uint64_t running = word_of(shm::ServiceCall::kRunning, caller);
        if (!call.state.compare_exchange_strong(running, word_of(shm::ServiceCall::kDone, caller),
                                                std::memory_order_release)) {
            call.state.store(0, std::memory_order_release);
        }
    }
    stripe.lock.unlock();
}

}  // namespace softib::direct
