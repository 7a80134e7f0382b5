// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The numbers that this process gives to its objects: entries of the arena's tables, stripes of its
// slot, protection and XRC domains, event channels. Thread-safe.

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>

#include "runtime/direct/attachment.h"
#include "runtime/shm/alloc.h"
#include "runtime/shm/arena.h"

namespace softib::direct {

class Tables {
  public:
    explicit Tables(const Attachment& self) : self_(self) {}
    /// REQUIRES: the process has joined a fabric; so do all other functions.
    void init();

    shm::TableAllocator qps;
    shm::TableAllocator mrs;
    shm::TableAllocator cqs;
    shm::TableAllocator srqs;

    /// Returns the stripe for a new queue pair: each in turn.
    shm::Stripe& next_stripe();
    /// Takes a number for a protection or XRC domain that no other process has. Returns 0 if none
    /// is left.
    std::uint32_t take_domain();
    void release_domain(std::uint32_t id);
    std::uint32_t next_channel() { return ++channel_counter_; }

  private:
    const Attachment& self_;
    std::mutex domains_mutex_;
    std::uint32_t domains_top_ = 0;
    /// Numbers of released domains. The one released longest ago is used first, so that a stale
    /// number stays invalid for long.
    std::deque<std::uint32_t> domains_free_;
    std::atomic<std::uint32_t> channel_counter_{0};
    std::atomic<std::uint32_t> stripe_counter_{0};
};

}  // namespace softib::direct
