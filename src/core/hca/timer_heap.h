// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A heap of timers, one per queue pair, that finds the next deadline. A timer that is set to a
// later time keeps its place and comes up too early: acknowledgements put timers off all the time,
// and few ever expire.

#include <cstdint>
#include <utility>
#include <vector>

namespace softib::hca {

class TimerHeap {
  public:
    explicit TimerHeap(std::uint32_t timers) : position_(timers, kAbsent) { heap_.reserve(timers); }

    /// Makes room for `timers` timers.
    void grow(std::uint32_t timers) {
        position_.resize(timers, kAbsent);
        heap_.reserve(timers);
    }

    bool empty() const { return heap_.empty(); }
    std::uint64_t first_ns() const { return heap_.front().deadline_ns; }

    /// Sets a timer, which comes up at `deadline_ns` or earlier.
    void set(std::uint32_t timer, std::uint64_t deadline_ns) {
        std::uint32_t at = position_[timer];
        if (at == kAbsent) {
            at = static_cast<std::uint32_t>(heap_.size());
            heap_.push_back({deadline_ns, timer});
            position_[timer] = at;
        } else if (deadline_ns >= heap_[at].deadline_ns) {
            return;
        }
        heap_[at].deadline_ns = deadline_ns;
        sift_up(at);
    }
    std::uint32_t pop() {
        const std::uint32_t timer = heap_.front().timer;
        position_[timer] = kAbsent;
        const Entry last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) {
            heap_.front() = last;
            position_[last.timer] = 0;
            sift_down();
        }
        return timer;
    }

  private:
    static constexpr std::uint32_t kAbsent = UINT32_MAX;
    struct Entry {
        std::uint64_t deadline_ns;
        std::uint32_t timer;  ///< The timer's number, which also breaks ties the same in each run.
        friend auto operator<=>(const Entry&, const Entry&) = default;
    };
    void exchange(std::uint32_t a, std::uint32_t b) {
        std::swap(heap_[a], heap_[b]);
        position_[heap_[a].timer] = a;
        position_[heap_[b].timer] = b;
    }
    void sift_up(std::uint32_t at) {
        while (at != 0 && heap_[at] < heap_[(at - 1) / 2]) {
            exchange(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }
    void sift_down() {
        const auto size = static_cast<std::uint32_t>(heap_.size());
        for (std::uint32_t at = 0;;) {
            std::uint32_t least = at;
            for (std::uint32_t child = 2 * at + 1; child < size && child <= 2 * at + 2; ++child) {
                least = heap_[child] < heap_[least] ? child : least;
            }
            if (least == at) {
                return;
            }
            exchange(at, least);
            at = least;
        }
    }

    std::vector<Entry> heap_;
    std::vector<std::uint32_t> position_;
};

}  // namespace softib::hca
