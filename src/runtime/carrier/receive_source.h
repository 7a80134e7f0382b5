// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Fetches receive requests from a program's ring for its HCA, and keeps the program's wr_id of each
// until it completes.

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/shm/arena.h"
#include "runtime/shm/delivery.h"

namespace softib::carrier {

class ReceiveSource {
  public:
    /// What a request's completion needs.
    struct Token {
        std::uint64_t wr_id = 0;
        std::uint32_t wqe_index = 0;
    };

    explicit ReceiveSource(shm::RecvRing* ring) : ring_(ring) {}

    bool exists() const { return ring_ != nullptr; }
    bool has_more() const { return ring_->tail.load(std::memory_order_acquire) != fetched_; }
    /// Calls `post(token, sges)` for each request that the program has posted, until it returns
    /// false.
    template <typename Post>
    void fetch(const shm::Arena& arena, Post&& post);
    /// Frees the ring's slots of all fetched requests but the last `waiting`, which the HCA has not
    /// begun to fill.
    void release(std::uint32_t waiting) {
        const std::uint32_t head = fetched_ - waiting;
        if (ring_->head.load(std::memory_order_relaxed) != head) {
            ring_->head.store(head, std::memory_order_release);
        }
    }
    /// Returns what was kept of a request that is complete.
    Token take(std::uint32_t token) {
        if (token >= tokens_.size()) {
            return {};
        }
        free_.push_back(token);
        return tokens_[token];
    }
    /// Begins with an empty ring again.
    void reset() {
        fetched_ = 0;
        tokens_.clear();
        free_.clear();
    }

  private:
    std::uint32_t keep(const Token& token);

    shm::RecvRing* ring_;
    std::uint32_t fetched_ = 0;        ///< Number of requests fetched.
    std::vector<Token> tokens_;        ///< What was kept of requests, by token.
    std::vector<std::uint32_t> free_;  ///< Tokens that are not in use.
};

template <typename Post>
void ReceiveSource::fetch(const shm::Arena& arena, Post&& post) {
    const std::uint32_t tail = ring_->tail.load(std::memory_order_acquire);
    for (; fetched_ != tail; ++fetched_) {
        // A program has written this entry, which may be nonsense.
        const shm::RecvWqe& wqe = *ring_slot(arena, *ring_, fetched_);
        const std::uint32_t sges = wqe.num_sge <= ring_->sges_max ? wqe.num_sge : 0;
        const std::uint32_t token = keep({wqe.wr_id, fetched_});
        if (!post(token, std::span(ring_sges(arena, *ring_, fetched_), sges))) {
            free_.push_back(token);
            return;
        }
    }
}

}  // namespace softib::carrier
