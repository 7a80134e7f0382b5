// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Completion queues. Many producers (peers, our own senders) under a crash-safe lock; consumers are
// threads of the owner under a lock of its own. An entry is published by its sequence word, so
// that a poll of an empty queue reads one cache line and nothing else.

#include <cstdint>
#include <optional>

#include "runtime/shm/arena.h"
#include "runtime/shm/delivery.h"
#include "runtime/shm/shm_lock.h"
#include "runtime/shm/types.h"

namespace softib::live {

class Process;

inline constexpr std::uint32_t kCqEntriesMax = 1U << 22;

/// A receive completion and the request it ends, so that both happen or neither.
struct Completing {
    DeliveryRecord* record = nullptr;  ///< For a ring that several processes take from.
    RecvRing* ring = nullptr;          ///< For a connected queue pair: its head must be at `index`,
    std::uint32_t index = 0;           ///< and moves on with the completion.
};

/// Adds a completion to any process's queue. `solicited`: counts for solicited-only arming.
/// Returns false, with nothing added, if the request was flushed meanwhile.
bool cq_push(Process& process, CqShared& cq, const Cqe& entry, bool solicited,
             const Completing& completing = {});

class Cq {
  public:
    static Cq* create(Process& process, std::uint32_t hca, std::uint32_t entries,
                      std::uint32_t channel, std::uint32_t async_channel, std::uint64_t cookie,
                      bool timestamps);  ///< nullptr and errno.
    ~Cq();

    std::uint32_t index() const { return index_; }
    std::uint32_t entries() const { return shared_->entries; }
    CqShared& shared() { return *shared_; }
    bool overflowed() const { return shared_->overflowed.load(std::memory_order_relaxed) != 0; }

    /// Takes up to `max` completions; calls fn(const Cqe&) for each.
    template <typename Fn>
    int poll(int max, Fn&& fn) {
        lock_.lock();
        const int n = poll_locked(max, fn);
        lock_.unlock();
        return n;
    }

    // For the extended polling interface, which holds the queue between calls.
    void lock() { lock_.lock(); }
    void unlock() { lock_.unlock(); }
    const Cqe* peek_locked() const {
        const Cqe& e = ring_[consumed_ & mask_];
        return e.load_seq() == consumed_ + 1 ? &e : nullptr;
    }
    void advance_locked(const Cqe& e) {
        retire(e);
        ++consumed_;
        shared_->consumed.store(consumed_, std::memory_order_release);
    }

    /// Asks for an event: at once if a completion waits to be polled that would raise it, as HCAs
    /// do, else when the next one comes.
    void arm(bool solicited_only);
    /// The program has taken an event of this queue from its channel. See ChannelEvent.
    void event_taken(std::uint32_t behind, std::uint32_t consumed) {
        told_.store(std::uint64_t{consumed} << 32 | behind, std::memory_order_release);
        announced_.store(false, std::memory_order_release);
    }
    /// After the death of a producer: writes the event that it may have owed us.
    void announce_lost();
    int resize(std::uint32_t entries);  ///< 0 or errno.
    /// Removes the completions of a queue pair (or of a shared receive queue) that is going away.
    void purge(std::uint32_t qpn);
    /// Returns the wqe_index of a queue pair's newest completion that waits to be polled.
    std::optional<std::uint32_t> newest(std::uint32_t qpn, bool receive);
    /// Takes all requests off the ring of a queue pair that stops, so that no deliverer completes
    /// one of them any more; returns the index of the first. `polled`: index after the newest
    /// completion of this ring that was polled.
    std::uint32_t claim_receives(std::uint32_t qpn, RecvRing& ring, std::uint32_t polled);

  private:
    Cq() = default;

    template <typename Fn>
    int poll_locked(int max, Fn& fn) {
        int n = 0;
        for (; n < max; ++n) {
            const Cqe* e = peek_locked();
            if (e == nullptr) {
                break;
            }
            retire(*e);
            fn(*e);
            ++consumed_;
        }
        if (n != 0) {
            shared_->consumed.store(consumed_, std::memory_order_release);
        }
        return n;
    }
    /// Whether a completion waits to be polled; with `solicited_only`, one that is solicited.
    /// Takes no lock that polls take: a program may arm a queue that it is polling.
    bool holds(bool solicited_only);
    /// Gives the send queue's slots back: they are in use until their completion is polled.
    void retire(const Cqe& e);

    SpinLock lock_;
    SpinLock ring_lock_;  ///< Held to move entries, and to search them without polling.
    std::atomic<bool> announced_{false};  ///< The event that arm() raised was not taken yet.
    /// At the last event: `consumed` (upper half) and the first entry not told of.
    std::atomic<std::uint64_t> told_{0};
    std::uint32_t consumed_ = 0;
    std::uint32_t mask_ = 0;
    Cqe* ring_ = nullptr;
    CqShared* shared_ = nullptr;
    Process* process_ = nullptr;
    std::uint32_t index_ = 0;
};

}  // namespace softib::live
