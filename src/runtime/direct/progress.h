// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What this process does without a call of the program: it tries waiting requests again, serves
// calls of peers, and stops queue pairs whose peer, completion queue or carrier has failed. In
// programs that poll, the polls do this work; the helper thread does it when the program does not
// poll, and sleeps when nothing waits.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "runtime/direct/attachment.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/shm_lock.h"

namespace softib::direct {

class Cq;
class DirectQp;
class Process;
class QpBase;
class Srq;

/// The objects of one kind that this process has.
template <typename T>
class Members {
  public:
    void add(T& one) {
        const std::lock_guard guard(mutex_);
        all_.push_back(&one);
    }
    void remove(T& one) {
        const std::lock_guard guard(mutex_);
        std::erase(all_, &one);
    }
    /// Calls fn(one) for each, with the list locked.
    template <typename Fn>
    void for_each(Fn&& fn) {
        const std::lock_guard guard(mutex_);
        for (T* const one : all_) {
            fn(*one);
        }
    }
    void lock_for_fork() { mutex_.lock(); }
    void unlock_after_fork() { mutex_.unlock(); }

  private:
    std::mutex mutex_;
    std::vector<T*> all_;
};

class Progress {
  public:
    Progress(Process& process, const Attachment& self) : process_(process), self_(self) {}

    Members<QpBase> qps;
    Members<Cq> cqs;
    Members<Srq> srqs;

    /// Returns whether run() has something to do.
    bool wanted() const {
        return self_.slot->attention.load(std::memory_order_relaxed) != 0 ||
               stalled_count_.load(std::memory_order_relaxed) != 0;
    }
    /// `at_once`: also tries a queue pair again whose receiver was not ready a moment ago.
    void run(bool at_once = true);
    /// Does the same as run(), if it is wanted, for a program that polls.
    void poll() {
        if (wanted()) [[unlikely]] {
            polls_.store(polls_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            run(false);
        }
    }

    /// Has polls and the helper thread try a queue pair again, whose first request waits because
    /// its receiver is not ready or does not answer.
    void add_stalled(DirectQp& qp);
    void remove_stalled(DirectQp& qp);

    void start_helper();
    void stop_helper_in_child();

    /// Locks calls to the carrier: a process makes one at a time.
    std::mutex& carrier_mutex() { return carrier_mutex_; }
    /// Notes that a carrier knows an object of this process. From then on the helper thread looks
    /// for the end of carriers, also of one that ends before the first look.
    void met_carrier(shm::LockWord carrier);

  private:
    static void* helper_main(void* progress);
    void helper_loop();
    void look_for_carrier();
    void serve_attention();
    void advance_stalled(bool at_once);
    /// Asks the receivers that stalled queue pairs wait for to ring us. Returns the nanoseconds to
    /// the first deadline; 0 if there is none.
    std::uint64_t arm_wakes();

    Process& process_;
    const Attachment& self_;
    /// The number of queue pairs in stalled_, so that a poll need not lock the list.
    std::atomic<std::uint32_t> stalled_count_{0};
    /// Grows with polls that call run(), so that the helper thread sees that the program polls.
    std::atomic<std::uint64_t> polls_{0};
    std::mutex stalled_mutex_;
    std::vector<DirectQp*> stalled_;
    /// Held while run() tries stalled queue pairs again. Taken before any other lock.
    std::mutex progress_mutex_;
    std::vector<DirectQp*> advancing_;  ///< Guarded by progress_mutex_.
    std::atomic<bool> helper_started_{false};
    std::mutex helper_mutex_;
    std::mutex carrier_mutex_;
    std::atomic<bool> has_carrier_{false};  ///< A carrier has known an object of this process.
    std::atomic<shm::LockWord> carrier_seen_{0};
};

}  // namespace softib::direct
