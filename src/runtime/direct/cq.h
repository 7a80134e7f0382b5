// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Completion queues. Producers (senders of any process) take a crash-safe lock in the arena, unless
// there is only one (sole_producer.h); consumers are threads of the owner, which take a lock of
// their process. An entry is published by its sequence word, so that a poll of an empty queue reads
// one cache line and nothing else.

#include <cstdint>
#include <optional>

#include "runtime/shm/arena.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/delivery.h"
#include "runtime/shm/favoured_lock.h"
#include "runtime/shm/shm_lock.h"
#include "runtime/shm/sole_producer.h"
#include "runtime/shm/types.h"

namespace softib::direct {

class Attachment;
class Process;

inline constexpr std::uint32_t kCqEntriesMax = 1U << 22;

/// The receive request that a completion ends, so that both happen or neither.
struct Completing {
    /// The record of the delivery, if several processes take requests from the ring.
    shm::DeliveryRecord* record = nullptr;
    /// The ring of a connected queue pair. cq_push() adds nothing unless the ring's head is at
    /// `index`, and moves the head on with the completion.
    shm::RecvRing* ring = nullptr;
    /// The place of the request in `ring`.
    std::uint32_t index = 0;
};

/// Adds a completion to a queue of any process. `solicited`: it also raises the event of a queue
/// that is armed for solicited completions only. `producer`: the stripe whose lock the caller
/// holds; nullptr: none. Returns false, with nothing added, if the request was flushed meanwhile.
bool cq_push(const Attachment& self, shm::CqShared& cq, const shm::Cqe& entry, bool solicited,
             const shm::Producer* producer, const Completing& completing = {});

class Cq {
  public:
    /// Creates a queue. Returns nullptr, with errno set, if that fails.
    static Cq* create(Process& process, std::uint32_t hca, std::uint32_t entries,
                      std::uint32_t channel, std::uint32_t async_channel, std::uint64_t cookie,
                      bool timestamps);
    ~Cq();

    std::uint32_t index() const { return index_; }
    std::uint32_t entries() const { return shared_->entries; }
    shm::CqShared& shared() { return *shared_; }
    bool overflowed() const { return shared_->overflowed.load(std::memory_order_relaxed) != 0; }

    /// Takes up to `max` completions and calls fn(const Cqe&) for each. Returns their number.
    template <typename Fn>
    int poll(int max, Fn&& fn) {
        if (rests()) {
            return 0;
        }
        lock_.lock();
        const int n = poll_locked(max, fn);
        lock_.unlock();
        return n;
    }
    /// Returns whether the queue was found empty just after peers had filled it, and is not looked
    /// at for a moment. A look takes the line of the next entry from the peer that is about to
    /// write it, and the peer must then fetch the line again: a stream of messages is faster if
    /// several come between two looks. The first moment is shorter than the time in which a peer
    /// can answer a message, so that it delays no answer.
    bool rests() const {
        const std::uint64_t since = empty_since_.load(std::memory_order_relaxed);
        return since != 0 && shm::cpu_ticks() - since < rest_ticks_.load(std::memory_order_relaxed);
    }
    /// Has the next poll look at the queue.
    void end_rest() { empty_since_.store(0, std::memory_order_relaxed); }

    // The four functions below are for the extended polling interface (ibv_start_poll), which holds
    // the lock between calls.
    void lock() { lock_.lock(); }
    void unlock() { lock_.unlock(); }
    const shm::Cqe* peek_locked() {
        const shm::CqCell& cell = ring_.cells[consumed_ & mask_];
        if (cell.load_seq() == consumed_ + 1) [[likely]] {
            ++found_;
            return (cell.load_about() & shm::kCellShort) != 0 ? expand(cell)
                                                              : &ring_.entries[consumed_ & mask_];
        }
        const shm::Cqe& entry = ring_.entries[consumed_ & mask_];
        if (entry.load_seq() == consumed_ + 1) {
            ++found_;
            return &entry;
        }
        rest_or_look();
        return nullptr;
    }
    void advance_locked(const shm::Cqe& e) {
        retire(e);
        ++consumed_;
        shared_->consumed.store(consumed_, std::memory_order_release);
    }

    /// Asks for an event. It is raised at once, as HCAs do, if a completion that would raise it
    /// waits to be polled; otherwise with the next such completion.
    void arm(bool solicited_only);
    /// Notes that the program has taken an event of this queue from its channel. The arguments are
    /// those of its ChannelEvent.
    void event_taken(std::uint32_t behind, std::uint32_t consumed) {
        told_.store(std::uint64_t{consumed} << 32 | behind, std::memory_order_release);
        announced_.store(false, std::memory_order_release);
        end_rest();
    }
    /// Raises the event that a producer may have failed to raise because it died. Called after the
    /// death of any process.
    void announce_lost();
    /// Returns 0 or an errno value.
    int resize(std::uint32_t entries);
    /// Removes the completions of a queue pair (or of a shared receive queue) that is going away.
    void purge(std::uint32_t qpn);
    /// Returns the wqe_index of a queue pair's newest completion that waits to be polled;
    /// std::nullopt if there is none. `receive`: looks for receive completions, otherwise for send
    /// completions.
    std::optional<std::uint32_t> newest(std::uint32_t qpn, bool receive);
    /// Takes all requests off the receive ring of a queue pair that stops, so that no sender
    /// completes one of them any more. Returns the index of the first request that has no
    /// completion. `polled` is the index after that of the newest completion that was polled.
    std::uint32_t claim_receives(std::uint32_t qpn, shm::RecvRing& ring, std::uint32_t polled);

  private:
    Cq() = default;

    template <typename Fn>
    int poll_locked(int max, Fn& fn) {
        int n = 0;
        for (; n < max; ++n) {
            const shm::Cqe* e = peek_locked();
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
    /// Returns whether a completion waits to be polled that the program has had no event for; with
    /// `solicited_only`, one that is solicited. Takes no lock that polls take, because a program
    /// may arm a queue that it is polling.
    bool holds(bool solicited_only);
    /// Returns the completion that a short cell means.
    const shm::Cqe* expand(const shm::CqCell& cell);
    /// Decides, when the queue was found empty, whether the next polls look at it.
    void rest_or_look();
    /// Gives the request's slot back to its queue pair: slots are in use until their completion is
    /// polled.
    void retire(const shm::Cqe& e);

    shm::FavouredLock lock_;
    shm::SpinLock ring_lock_;  ///< Held to move entries, and to search them without polling.
    std::atomic<bool> announced_{false};  ///< The program has not taken the event of arm() yet.
    /// What the last event that the program has taken told it: in the upper half, how many entries
    /// were consumed then; in the lower half, the index after the entry that raised the event.
    std::atomic<std::uint64_t> told_{0};
    std::uint32_t consumed_ = 0;
    std::uint32_t mask_ = 0;
    std::uint32_t found_ = 0;  ///< Entries found since the queue was last found empty.
    bool may_rest_ = false;    ///< Direct path, and no entry so far was that of a send request.
    /// When the queue was found empty just after it was not; 0: each poll looks at it.
    std::atomic<std::uint64_t> empty_since_{0};
    std::atomic<std::uint32_t> rest_ticks_{0};
    shm::CqRing ring_{};
    shm::Cqe expanded_{};
    shm::CqShared* shared_ = nullptr;
    Process* process_ = nullptr;
    std::uint32_t index_ = 0;
};

}  // namespace softib::direct
