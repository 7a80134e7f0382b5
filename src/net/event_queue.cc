// SPDX-License-Identifier: BSD-2-Clause
#include "net/event_queue.h"

#include <functional>
#include <utility>

namespace softib::net {

namespace {

constexpr std::uint64_t kNoBucket = UINT64_MAX;
/// Equal keys are rare: they are put in order after the others.
void order_equals(std::vector<Event>& events) {
    for (std::size_t i = 1; i < events.size(); ++i) {
        for (std::size_t j = i;
             j > 0 && events[j].key == events[j - 1].key && events[j].extra < events[j - 1].extra;
             --j) {
            std::swap(events[j], events[j - 1]);
        }
    }
}

}  // namespace

EventQueue::EventQueue(unsigned width, unsigned span)
    : width_(width),
      buckets_(std::uint64_t{1} << (span - width)),
      mask_(static_cast<std::uint32_t>(buckets_ - 1)),
      width_mask_((std::uint64_t{1} << width) - 1),
      heads_(buckets_, kNone),
      filled_((buckets_ + 63) / 64) {
    SOFTIB_CHECK(span < 32 && width + 6 <= span);  // At least a word of the bitmap.
}

std::uint32_t EventQueue::add_chunk(std::uint32_t slot) {
    std::uint32_t c = free_chunk_;
    if (c == kNone) {
        c = static_cast<std::uint32_t>(chunks_.size());
        chunks_.emplace_back();
    } else {
        free_chunk_ = chunks_[c].next;
    }
    chunks_[c].next = heads_[slot];
    chunks_[c].count = 0;
    heads_[slot] = c;
    filled_[slot / 64] |= std::uint64_t{1} << slot % 64;
    return c;
}

void EventQueue::push_rare(TimePs at, const Event& event) {
    SOFTIB_CHECK(at >= now_ && at >> width_ >= bucket_);
    if (at >> width_ != bucket_) {
        far_.push_back({at, event});
        std::push_heap(far_.begin(), far_.end(), std::greater<>());
        return;
    }
    late_.push_back(event);
    std::push_heap(late_.begin(), late_.end(), After());
}

Event EventQueue::pop_late() {
    std::pop_heap(late_.begin(), late_.end(), After());
    const Event event = late_.back();
    late_.pop_back();
    return event;
}

/// Returns the next bucket of the ring that has events; the far ones do not count.
std::uint64_t EventQueue::next_bucket() const {
    const std::uint64_t start = bucket_ + 1;
    std::uint64_t word = (start & mask_) / 64;
    std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << start % 64);
    // The last step looks again at the first word, now for what is behind the start.
    for (std::uint64_t steps = 0; steps <= filled_.size(); ++steps) {
        if (bits != 0) {
            const std::uint64_t slot =
                word * 64 + static_cast<std::uint64_t>(std::countr_zero(bits));
            return start + ((slot - start) & mask_);
        }
        word = word + 1 == filled_.size() ? 0 : word + 1;
        bits = filled_[word];
    }
    return kNoBucket;
}

TimePs EventQueue::earliest() const {
    if (pending_ == 0) {
        return kNever;
    }
    if (place_ != current_.size() || !late_.empty()) {
        return time_of(late_comes_next() ? late_.front() : current_[place_]);
    }
    const std::uint64_t next = next_bucket();
    const TimePs ring = next == kNoBucket ? kNever : next << width_;
    return far_.empty() ? ring : std::min(ring, far_.front().at);
}

/// Goes on to the next bucket that is not empty. Returns false if there is none up to the given
/// one.
bool EventQueue::load(std::uint64_t bucket_max) {
    if (pending_ == 0) {
        return false;
    }
    std::uint64_t bucket = next_bucket();
    if (!far_.empty()) {
        bucket = std::min(bucket, far_.front().at >> width_);
    }
    if (bucket > bucket_max) {
        return false;
    }
    bucket_ = bucket;
    place_ = 0;
    begins_ = true;
    current_.clear();
    const std::uint32_t slot = static_cast<std::uint32_t>(bucket) & mask_;
    for (std::uint32_t c = heads_[slot]; c != kNone;) {
        Chunk& chunk = chunks_[c];
        current_.insert(current_.end(), chunk.events, chunk.events + chunk.count);
        const std::uint32_t next = chunk.next;
        chunk.next = free_chunk_;
        free_chunk_ = c;
        c = next;
    }
    heads_[slot] = kNone;
    filled_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    while (!far_.empty() && far_.front().at >> width_ == bucket) {
        current_.push_back(far_.front().event);
        std::pop_heap(far_.begin(), far_.end(), std::greater<>());
        far_.pop_back();
    }
    sorter_.sort(current_);
    order_equals(current_);
    return true;
}

void EventQueue::give_back() {
    if (pending_ != 0) {
        return;
    }
    chunks_.clear();
    chunks_.shrink_to_fit();
    free_chunk_ = kNone;
    far_.shrink_to_fit();
    current_.clear();
    current_.shrink_to_fit();
    late_.shrink_to_fit();
    sorter_.give_back();
    place_ = 0;
}

std::size_t EventQueue::bytes() const {
    return chunks_.capacity() * sizeof(Chunk) + heads_.capacity() * sizeof(std::uint32_t) +
           far_.capacity() * sizeof(Far) + filled_.capacity() * 8;
}

}  // namespace softib::net
