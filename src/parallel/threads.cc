// SPDX-License-Identifier: BSD-2-Clause
#include "parallel/threads.h"

#include <algorithm>
#include <thread>

namespace softib::parallel {

namespace {

/// Returns how often a thread spins before it sleeps: never if there are more threads than cores.
int spins_for(std::uint32_t parts) {
    constexpr int kSpins = 4000;
    return parts <= std::thread::hardware_concurrency() ? kSpins : 0;
}

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

class alignas(128) Meeting::Seat : public net::Exchange {
  public:
    Seat(Meeting& meeting, std::uint32_t part) : meeting_(meeting), part_(part) {}

    net::TimePs least(net::TimePs mine) override {
        // Other threads read this value until the next wait is over, so two places take turns.
        said_[turn_] = mine;
        meeting_.wait();
        net::TimePs least = net::kNever;
        for (const auto& seat : meeting_.seats_) {
            least = std::min(least, seat->said_[turn_]);
        }
        turn_ ^= 1;
        return least;
    }

    std::uint64_t sum(std::uint64_t mine) override {
        said_[turn_] = mine;
        meeting_.wait();
        std::uint64_t sum = 0;
        for (const auto& seat : meeting_.seats_) {
            sum += seat->said_[turn_];
        }
        turn_ ^= 1;
        return sum;
    }

    void swap(std::vector<std::vector<net::Crossing>>& out, const Taker& take) override {
        // Other threads may read these lists until they call least() or sum(). The lists of the
        // other turn have been read by all.
        auto& sent = sent_[turn_];
        sent.swap(out);
        out.resize(sent.size());
        for (auto& list : out) {
            list.clear();
        }
        meeting_.wait();
        for (const auto& seat : meeting_.seats_) {
            const auto& theirs = seat->sent_[turn_];
            if (seat.get() != this && theirs.size() > part_) {
                take(theirs[part_]);
            }
        }
    }

  private:
    Meeting& meeting_;
    std::uint32_t part_;
    unsigned turn_ = 0;
    net::TimePs said_[2] = {};
    std::vector<std::vector<net::Crossing>> sent_[2];
};

Meeting::Meeting(std::uint32_t parts) : parts_(parts), spins_max_(spins_for(parts)) {
    for (std::uint32_t i = 0; i < parts; ++i) {
        seats_.push_back(std::make_unique<Seat>(*this, i));
    }
}

Meeting::~Meeting() = default;

net::Exchange& Meeting::seat(std::uint32_t part) {
    return *seats_[part];
}

void Meeting::wait() {
    const std::uint32_t round = round_.load(std::memory_order_acquire);
    if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts_) {
        arrived_.store(0, std::memory_order_relaxed);
        round_.store(round + 1, std::memory_order_release);
        round_.notify_all();
        return;
    }
    for (int spins = 0; spins < spins_max_; ++spins) {
        if (round_.load(std::memory_order_acquire) != round) {
            return;
        }
        relax();
    }
    // A thread that yields to another program gets its core back a time slice later, in each of
    // many thousand rounds. One that sleeps gets it as soon as it is woken.
    round_.wait(round, std::memory_order_acquire);
}

}  // namespace softib::parallel
