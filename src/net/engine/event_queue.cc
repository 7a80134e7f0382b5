// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/event_queue.h"

#include <functional>
#include <span>
#include <utility>

namespace softib::net {

namespace {

constexpr std::uint64_t kNoBucket = UINT64_MAX;
/// How many buckets look() loads ahead at most: an event that is then pushed into a loaded bucket
/// must be inserted in its place, which costs time.
constexpr std::uint64_t kNearBuckets = 2;

/// Returns whether one event comes before another whose time is close. The low 32 bits of their
/// times may have wrapped around between them.
bool before(const Event& a, const Event& b) {
    return a.key != b.key ? static_cast<std::int64_t>(a.key - b.key) < 0 : a.extra < b.extra;
}

/// Puts events with equal keys, which are rare and lie side by side, in the order of `extra`.
void order_equals(std::span<Event> events) {
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
      heads_(buckets_, kNone),
      filled_((buckets_ + 63) / 64) {
    SOFTIB_CHECK(span < 32 && width + 6 <= span);  // The bitmap has at least one word.
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
    SOFTIB_CHECK(at >= now_);
    if (at >> width_ > bucket_) {
        far_.push_back({at, event});
        std::push_heap(far_.begin(), far_.end(), std::greater<>());
        return;
    }
    put_in_place(event);
}

/// Inserts an event among those that were loaded, most often near their end.
void EventQueue::put_in_place(const Event& event) {
    constexpr std::size_t kStepsMax = 64;
    std::size_t at = current_.size();
    const std::size_t stop = at - place_ > kStepsMax ? at - kStepsMax : place_;
    current_.push_back(event);
    for (; at != stop && before(event, current_[at - 1]); --at) {
        current_[at] = current_[at - 1];
    }
    current_[at] = event;
    if (at != place_ && at == stop && before(event, current_[at - 1])) {
        const auto begin = current_.begin() + static_cast<std::ptrdiff_t>(place_);
        const auto end = current_.begin() + static_cast<std::ptrdiff_t>(at);
        std::rotate(std::upper_bound(begin, end, event, before), end, end + 1);
    }
}

/// Returns the next bucket of the ring that has events, without those in the heap.
std::uint64_t EventQueue::next_bucket() const {
    const std::uint64_t start = bucket_ + 1;
    std::uint64_t word = (start & mask_) / 64;
    std::uint64_t bits = filled_[word] & (~std::uint64_t{0} << start % 64);
    // The last step looks at the first word again, now for the buckets before the start.
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

/// Returns the next bucket that has events, in the ring or in the heap.
std::uint64_t EventQueue::next_loaded() const {
    const std::uint64_t next = next_bucket();
    return far_.empty() ? next : std::min(next, far_.front().at >> width_);
}

TimePs EventQueue::earliest() const {
    if (pending_ == 0) {
        return kNever;
    }
    if (place_ != current_.size()) {
        return time_of(current_[place_]);
    }
    const std::uint64_t next = next_bucket();
    const TimePs ring = next == kNoBucket ? kNever : next << width_;
    return far_.empty() ? ring : std::min(ring, far_.front().at);
}

/// Goes on to the next bucket that is not empty. Returns false, with nothing changed, if there is
/// none up to `bucket_max`.
bool EventQueue::load(std::uint64_t bucket_max) {
    if (pending_ == 0) {
        return false;
    }
    const std::uint64_t bucket = next_loaded();
    if (bucket > bucket_max) {
        return false;
    }
    current_.clear();
    place_ = 0;
    begins_ = true;
    append_bucket(bucket);
    return true;
}

void EventQueue::load_more(std::size_t events) {
    current_.erase(current_.begin(), current_.begin() + static_cast<std::ptrdiff_t>(place_));
    place_ = 0;
    while (current_.size() < events) {
        const std::uint64_t bucket = next_loaded();
        if (current_.empty() || bucket - bucket_ > kNearBuckets) {
            return;
        }
        append_bucket(bucket);
    }
}

void EventQueue::append_bucket(std::uint64_t bucket) {
    bucket_ = bucket;
    bucket_events_.clear();
    const std::uint32_t slot = static_cast<std::uint32_t>(bucket) & mask_;
    for (std::uint32_t c = heads_[slot]; c != kNone;) {
        Chunk& chunk = chunks_[c];
        bucket_events_.insert(bucket_events_.end(), chunk.events, chunk.events + chunk.count);
        const std::uint32_t next = chunk.next;
        chunk.next = free_chunk_;
        free_chunk_ = c;
        c = next;
    }
    heads_[slot] = kNone;
    filled_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    while (!far_.empty() && far_.front().at >> width_ == bucket) {
        bucket_events_.push_back(far_.front().event);
        std::pop_heap(far_.begin(), far_.end(), std::greater<>());
        far_.pop_back();
    }
    ahead_ = heads_[static_cast<std::uint32_t>(bucket + 1) & mask_];
    fetch_lines(ahead_);
    const std::size_t begin = current_.size();
    sorter_.append_sorted(bucket_events_, current_);
    order_equals(std::span(current_).subspan(begin));
}

void EventQueue::give_back() {
    if (pending_ != 0) {
        return;
    }
    chunks_.clear();
    chunks_.shrink_to_fit();
    free_chunk_ = ahead_ = kNone;
    far_.shrink_to_fit();
    current_.clear();
    current_.shrink_to_fit();
    sorter_.give_back();
    place_ = 0;
}

std::size_t EventQueue::bytes() const {
    return chunks_.capacity() * sizeof(Chunk) + heads_.capacity() * sizeof(std::uint32_t) +
           far_.capacity() * sizeof(Far) + filled_.capacity() * 8;
}

}  // namespace softib::net
