// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/progress.h"

#include <algorithm>

#include "runtime/direct/cq.h"
#include "runtime/direct/process.h"
#include "runtime/direct/qp_direct.h"
#include "runtime/direct/recv_queue.h"
#include "runtime/direct/service.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/grace.h"
#include "runtime/shm/packet_queue.h"
#include "runtime/shm/thread.h"

namespace softib::direct {

namespace {

/// How often the helper looks whether the program still polls, while something waits.
constexpr std::uint64_t kLookInNs = 1'000'000;
/// How many more times the helper looks after nothing waits any more, before it sleeps.
constexpr std::uint32_t kBusyLookIns = 8;
/// How often the helper looks whether the carrier lives. The daemon reports the carrier's end at
/// once, unless the daemon has ended too.
constexpr std::uint64_t kCarrierLookNs = 500'000'000;

}  // namespace

void Progress::add_stalled(DirectQp& qp) {
    bool first = false;
    {
        const std::lock_guard guard(stalled_mutex_);
        if (std::find(stalled_.begin(), stalled_.end(), &qp) == stalled_.end()) {
            stalled_.push_back(&qp);
        }
        first = stalled_.size() == 1;
        stalled_count_.store(static_cast<std::uint32_t>(stalled_.size()),
                             std::memory_order_seq_cst);
    }
    if (first && self_.slot->helper_sleeping.load(std::memory_order_seq_cst) != 0) {
        self_.slot->doorbell.fetch_add(1, std::memory_order_seq_cst);
        shm::futex_wake(self_.slot->doorbell);
    }
}

void Progress::remove_stalled(DirectQp& qp) {
    // Waits for another thread that may be trying this queue pair in run().
    const std::lock_guard progress_guard(progress_mutex_);
    const std::lock_guard guard(stalled_mutex_);
    std::erase(stalled_, &qp);
    stalled_count_.store(static_cast<std::uint32_t>(stalled_.size()), std::memory_order_relaxed);
}

void Progress::serve_attention() {
    const std::uint32_t attention = self_.slot->attention.exchange(0, std::memory_order_acq_rel);
    service_run(process_);
    if ((attention & shm::kAttentionDeath) != 0) {
        cqs.for_each([](Cq& cq) { cq.announce_lost(); });
    }
    srqs.for_each([](Srq& srq) { srq.stop_if_failed(); });
    qps.for_each([](QpBase& qp) { qp.stop_if_failed(); });
}

void Progress::run(bool at_once) {
    if (self_.slot->attention.load(std::memory_order_relaxed) != 0) {
        serve_attention();
    }
    if (stalled_count_.load(std::memory_order_relaxed) != 0) {
        advance_stalled(at_once);
    }
}

void Progress::advance_stalled(bool at_once) {
    // One thread at a time does this; the others go on. The list is not locked meanwhile, because a
    // sender that stalls takes the lock of its queue pair before that of the list.
    if (!progress_mutex_.try_lock()) {
        return;
    }
    {
        const std::lock_guard guard(stalled_mutex_);
        advancing_.swap(stalled_);
    }
    std::erase_if(advancing_, [at_once](DirectQp* qp) { return qp->advance(at_once); });
    {
        const std::lock_guard guard(stalled_mutex_);
        stalled_.insert(stalled_.end(), advancing_.begin(), advancing_.end());
        stalled_count_.store(static_cast<std::uint32_t>(stalled_.size()),
                             std::memory_order_relaxed);
    }
    advancing_.clear();
    progress_mutex_.unlock();
}

std::uint64_t Progress::arm_wakes() {
    const std::lock_guard progress_guard(progress_mutex_);
    std::vector<DirectQp*> waiting;
    {
        const std::lock_guard guard(stalled_mutex_);
        waiting = stalled_;
    }
    const std::uint64_t now = shm::monotonic_ns();
    std::uint64_t first = 0;
    for (DirectQp* qp : waiting) {
        qp->ask_for_wake();
        const std::uint64_t deadline = qp->deadline_ns();
        if (deadline != 0) {
            const std::uint64_t left = deadline > now ? deadline - now : 1;
            first = first == 0 ? left : std::min(first, left);
        }
    }
    // The caller then tries once more. After the barrier, either that try sees the receive request
    // that was posted meanwhile, or its poster sees who waits (ring_wake_sender).
    shm::barrier_everywhere();
    return first;
}

void Progress::start_helper() {
    if (helper_started_.load(std::memory_order_acquire)) {
        return;
    }
    const std::lock_guard guard(helper_mutex_);
    if (helper_started_.load(std::memory_order_relaxed)) {
        return;
    }
    if (shm::start_thread("softib-helper", helper_main, this)) {
        helper_started_.store(true, std::memory_order_release);
        self_.slot->helper_ready.store(1, std::memory_order_release);
    }
}

void Progress::stop_helper_in_child() {
    // The helper thread does not exist in the child, which never uses its copy of this object.
    helper_started_.store(false);
}

void* Progress::helper_main(void* progress) {
    static_cast<Progress*>(progress)->helper_loop();
    return nullptr;
}

void Progress::met_carrier(shm::LockWord carrier) {
    shm::LockWord none = 0;
    carrier_seen_.compare_exchange_strong(none, carrier);
    if (!has_carrier_.exchange(true)) {
        // A helper thread that sleeps without limit must look for carriers from now on.
        self_.slot->doorbell.fetch_add(1, std::memory_order_seq_cst);
        shm::futex_wake(self_.slot->doorbell);
    }
}

void Progress::look_for_carrier() {
    if (!has_carrier_.load(std::memory_order_acquire)) {
        return;
    }
    const shm::LockWord carrier = living_carrier(self_.arena);
    if (carrier_seen_.exchange(carrier) == carrier) {
        return;
    }
    self_.slot->attention.fetch_or(shm::kAttentionDeath, std::memory_order_release);
    run();
}

void Progress::helper_loop() {
    std::uint64_t seen_activity = 0;
    std::uint32_t look_ins = 0;
    for (;;) {
        const std::uint32_t bell = self_.slot->doorbell.load(std::memory_order_seq_cst);
        const std::uint64_t activity = polls_.load(std::memory_order_relaxed);
        const bool polled = activity != seen_activity;
        seen_activity = activity;
        if (self_.slot->attention.load(std::memory_order_relaxed) != 0 || !polled) {
            run();
        }
        look_for_carrier();
        process_.memory.gpu.give_up_stale_mappings();
        process_.memory.shared_mappings->give_up_stale();
        std::uint64_t sleep_ns = 0;
        if (stalled_count_.load(std::memory_order_seq_cst) != 0) {
            look_ins = 0;
            sleep_ns = kLookInNs;
            if (!polled) {
                sleep_ns = arm_wakes();
                run();
                // No bell rings when a silent peer comes up or a route comes back: look now and
                // then.
                sleep_ns = sleep_ns == 0 ? 50 * kLookInNs : std::min(sleep_ns, 50 * kLookInNs);
                if (stalled_count_.load() == 0) {
                    continue;
                }
            }
        } else if (look_ins < kBusyLookIns) {
            // A program that has stalled soon stalls again: look in for a while before sleeping,
            // which spares the program a system call to wake this thread.
            ++look_ins;
            sleep_ns = kLookInNs;
        }
        self_.slot->helper_sleeping.store(sleep_ns == 0 || !polled ? 1 : 0,
                                          std::memory_order_seq_cst);
        if (sleep_ns == 0 && has_carrier_.load(std::memory_order_acquire)) {
            sleep_ns = kCarrierLookNs;
        }
        shm::futex_wait(self_.slot->doorbell, bell, sleep_ns);
        self_.slot->helper_sleeping.store(0, std::memory_order_seq_cst);
    }
}

}  // namespace softib::direct
