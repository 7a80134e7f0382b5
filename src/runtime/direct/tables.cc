// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/direct/tables.h"

#include "runtime/direct/service.h"

namespace softib::direct {

void Tables::init() {
    const shm::Arena& arena = self_.arena;
    qps.init(arena.qp_batches, shm::kQpsMax, self_.owner);
    mrs.init(arena.mr_batches, shm::kMrsMax, self_.owner);
    cqs.init(arena.cq_batches, shm::kCqsMax, self_.owner);
    srqs.init(arena.srq_batches, shm::kSrqsMax, self_.owner);
    self_.slot->stripes_used.store(kServiceStripe + 1);
}

shm::Stripe& Tables::next_stripe() {
    const std::uint32_t n = stripe_counter_.fetch_add(1, std::memory_order_relaxed);
    const std::uint32_t index =
        kServiceStripe + 1 + n % (shm::kStripesPerProc - kServiceStripe - 1);
    std::uint32_t used = self_.slot->stripes_used.load(std::memory_order_relaxed);
    while (used <= index && !self_.slot->stripes_used.compare_exchange_weak(used, index + 1)) {
    }
    return self_.slot->stripes[index];
}

std::uint32_t Tables::take_domain() {
    constexpr unsigned kBits = 17;
    static_assert(std::uint64_t{shm::kProcsMax} << kBits < 0x80000000);
    if (!self_.usable()) {
        return 0;
    }
    const std::lock_guard guard(domains_mutex_);
    if (domains_top_ + 1 < 1U << kBits) {
        return std::uint32_t{self_.owner} << kBits | ++domains_top_;
    }
    if (domains_free_.empty()) {
        return 0;
    }
    const std::uint32_t id = domains_free_.front();
    domains_free_.pop_front();
    return id;
}

void Tables::release_domain(std::uint32_t id) {
    if (self_.usable()) {
        const std::lock_guard guard(domains_mutex_);
        domains_free_.push_back(id);
    }
}

}  // namespace softib::direct
