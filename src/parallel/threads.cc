// SPDX-License-Identifier: BSD-2-Clause
#include "parallel/threads.h"

#include <sched.h>

#include <algorithm>

namespace softib::parallel {

namespace {

constexpr int kSpins = 4000;

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
        // Answers are read until all are here again, so two take turns.
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
        // Others read these lists until they come to least(); the ones before have been read.
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

Meeting::Meeting(std::uint32_t parts) : parts_(parts) {
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
        return;
    }
    for (int spins = 0; round_.load(std::memory_order_acquire) == round; ++spins) {
        if (spins < kSpins) {
            relax();
        } else {
            sched_yield();
        }
    }
}

}  // namespace softib::parallel
