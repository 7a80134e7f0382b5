// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/window_queue.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

namespace softib::net {

void WindowQueue::start(std::uint32_t switches, TimePs window_ps) {
    SOFTIB_CHECK(pending_ == 0 && switches < kNoBin && window_ps != 0 && window_ps <= kWindowMax);
    window_ = window_ps;
    base_ = 1 - window_;  // Wraps around below 0; only differences of times are used.
    switches_ = switches;
    heads_.assign(kBins * switches_, kNone);
    nodes_.resize(64);
    slice_.resize(64);
    for (std::uint32_t slot = 0; slot < kBins; ++slot) {
        filled_[slot].assign((switches + 63) / 64, 0);
    }
    const auto bits = static_cast<unsigned>(std::bit_width(window_ - 1));
    slice_shift_ = bits > 8 ? bits - 8 : 0;
    std::ranges::fill(slices_, kNone);
}

std::uint32_t WindowQueue::add_chunk(std::uint32_t slot, std::uint32_t bin) {
    std::uint32_t c = free_chunk_;
    if (c == kNone) {
        c = static_cast<std::uint32_t>(chunks_.size());
        chunks_.emplace_back();
    } else {
        free_chunk_ = chunks_[c].next;
    }
    std::uint32_t& head = heads_[slot * switches_ + bin];
    filled_bins_[slot] += head == kNone ? 1 : 0;
    chunks_[c].next = head;
    chunks_[c].count = 0;
    head = c;
    filled_[slot][bin / 64] |= std::uint64_t{1} << bin % 64;
    return c;
}

void WindowQueue::push_far(TimePs at, Spot spot, Item item) {
    far_.push_back({at, spot, item});
    std::push_heap(far_.begin(), far_.end(), std::greater<>());
}

TimePs WindowQueue::earliest() const {
    for (std::uint32_t later = 0; later < kBins; ++later) {
        if (filled_bins_[(first_ + later) % kBins] != 0) {
            const TimePs begin = base_ + later * window_;
            return static_cast<std::int64_t>(begin) < 0 ? 0 : begin;
        }
    }
    return far_.empty() ? kNever : far_.front().at;
}

void WindowQueue::advance(TimePs at) {
    if (static_cast<std::int64_t>(at - base_) < 0) {
        return;  // The present window goes on.
    }
    const std::uint64_t windows = (at - base_) / window_;
    first_ = static_cast<std::uint32_t>((first_ + windows) % kBins);
    base_ += windows * window_;
    while (!far_.empty() && far_.front().at - base_ < kBins * window_) {
        const Far& next = far_.front();
        const auto later = static_cast<std::uint32_t>((next.at - base_) / window_);
        append((first_ + later) % kBins, next.spot.bin,
               (next.at - base_ - later * window_) << kTimeShift | next.item);
        std::pop_heap(far_.begin(), far_.end(), std::greater<>());
        far_.pop_back();
    }
}

std::uint32_t WindowQueue::next_bin(std::uint32_t bin) const {
    const std::vector<std::uint64_t>& filled = filled_[first_];
    std::size_t word = bin / 64;
    if (word >= filled.size()) {
        return kNoBin;
    }
    std::uint64_t bits = filled[word] & (~std::uint64_t{0} << bin % 64);
    while (bits == 0) {
        if (++word == filled.size()) {
            return kNoBin;
        }
        bits = filled[word];
    }
    return static_cast<std::uint32_t>(word * 64) +
           static_cast<std::uint32_t>(std::countr_zero(bits));
}

/// Empties a switch's bin of the present window. Returns the bin's last chunk, or kNone.
std::uint32_t WindowQueue::unlink(std::uint32_t bin) {
    const std::uint32_t last = std::exchange(heads_[first_ * switches_ + bin], kNone);
    filled_[first_][bin / 64] &= ~(std::uint64_t{1} << bin % 64);
    filled_bins_[first_] -= last == kNone ? 0 : 1;
    return last;
}

void WindowQueue::drop(std::uint32_t bin) {
    std::uint32_t c = unlink(bin);
    while (c != kNone) {
        Chunk& chunk = chunks_[c];
        pending_ -= chunk.count;
        const std::uint32_t next = std::exchange(chunk.next, free_chunk_);
        free_chunk_ = c;
        c = next;
    }
}

void WindowQueue::open(std::uint32_t bin) {
    open_ = bin;
    node_count_ = place_ = count_ = word_ = 0;
    at_slice_ = kSlices;
    std::uint32_t c = unlink(bin);
    while (c != kNone) {
        Chunk& chunk = chunks_[c];
        for (const Item item : std::span(chunk.items, chunk.count)) {
            put(item);
        }
        const std::uint32_t next = chunk.next;
        chunk.next = free_chunk_;
        free_chunk_ = c;
        c = next;
    }
}

void WindowQueue::close() {
    do {
        for (; place_ != count_; ++place_) {
            append(first_, open_, slice_[place_]);
        }
    } while (next_slice());
    open_ = kNoBin;
}

void WindowQueue::give_back() {
    if (pending_ != 0) {
        return;
    }
    chunks_.clear();
    chunks_.shrink_to_fit();
    free_chunk_ = kNone;
    far_.shrink_to_fit();
}

std::size_t WindowQueue::bytes() const {
    return chunks_.capacity() * sizeof(Chunk) + far_.capacity() * sizeof(Far) +
           heads_.capacity() * sizeof(std::uint32_t);
}

}  // namespace softib::net
