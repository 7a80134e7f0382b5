// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Pending events of switches, for an engine that handles them switch by switch. What happens at a
// switch reaches another node a cable's delay later at the earliest. So time is cut into windows no
// longer than the shortest such delay, and all events of one switch and window are handled
// together, while its tables, ports and packets are in the processor's nearest caches.
//
// Events of the next windows lie in bins, one for each switch and window; events that are further
// off wait in a heap. The events of the switch that is being handled (the open one) are in a ring
// of narrow time slices, and those of the present slice are sorted. The order at a switch is that
// of EventQueue: by time, link and kind.
//
// An event is one word: its time within the window, the rank of its link among those of its
// switch, its kind, and the packet or number that it is about.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "net/engine/event_queue.h"
#include "net/plant/fetch.h"
#include "net/plant/pages.h"

namespace softib::net {

class WindowQueue {
  public:
    static constexpr unsigned kTimeBits = 20;
    static constexpr unsigned kRankBits = 9;
    static constexpr TimePs kWindowMax = (TimePs{1} << kTimeBits) - 1;
    using Item = std::uint64_t;  ///< An event.

    /// A link as one of its two switches sees it.
    struct Spot {
        std::uint32_t bin : 23 = 0;          ///< Number of the switch.
        std::uint32_t rank : kRankBits = 0;  ///< The link's place among those of the switch.
    };
    static constexpr std::uint32_t kNoBin = (1U << 23) - 1;

    /// Returns the length of windows where no node reaches another sooner than `lookahead`: a
    /// microsecond divided by a whole number. So a run can stop at any whole microsecond, as it
    /// does for looks.h, without dividing a window.
    static constexpr TimePs length(TimePs lookahead) {
        constexpr TimePs kMicrosecond = 1'000'000;
        return lookahead >= kMicrosecond
                   ? kMicrosecond
                   : kMicrosecond / ((kMicrosecond + lookahead - 1) / lookahead);
    }
    /// Starts the use of windows; must be called before anything is pushed. The last moment of each
    /// window is a multiple of its length.
    void start(std::uint32_t switches, TimePs window_ps);
    bool on() const { return window_ != 0; }
    bool empty() const { return pending_ == 0; }
    std::uint64_t pending() const { return pending_; }
    std::size_t bytes() const;
    /// Frees the memory that many events took; does nothing while events are pending.
    void give_back();

    void push(TimePs at, Spot spot, EventKind kind, std::uint32_t about) {
        ++pending_;
        const TimePs after = at - base_;
        const Item item =
            static_cast<Item>(spot.rank) << kRankShift | static_cast<Item>(kind) << 32 | about;
        if (spot.bin == open_) {
            if (after < window_) [[likely]] {
                put(after << kTimeShift | item);
                return;
            }
        } else {
            // No switch reaches another within a window.
            SOFTIB_CHECK(after >= window_ || open_ == kNoBin);
        }
        if (after < kBins * window_) [[likely]] {
            const auto later = static_cast<std::uint32_t>((after >= window_ ? 1 : 0) +
                                                          (after >= 2 * window_ ? 1 : 0) +
                                                          (after >= 3 * window_ ? 1 : 0));
            append((first_ + later) % kBins, spot.bin,
                   (after - later * window_) << kTimeShift | item);
        } else {
            push_far(at, spot, item);
        }
    }

    // Windows.
    /// Returns when the present window began.
    TimePs base() const { return base_; }
    TimePs window() const { return window_; }
    /// Returns a time before which no event is due; kNever if none is pending.
    TimePs earliest() const;
    /// Goes on to the window in which `at` lies. Nothing may be due before `at`.
    void advance(TimePs at);
    /// Returns the next switch from `bin` on that has events in the present window; kNoBin if there
    /// is none.
    std::uint32_t next_bin(std::uint32_t bin) const;
    /// Prefetches the first of a switch's events in the present window.
    void fetch_events(std::uint32_t bin) const { fetch_chunk(heads_[first_ * switches_ + bin]); }
    /// Prefetches what push() will touch for a switch in the next two windows.
    void fetch_ends(Spot spot) const {
        if (spot.bin != kNoBin) {
            const std::uint32_t* const heads = heads_.data() + spot.bin;
            fetch(place_of(chunks_.data(), heads[(first_ + 1) % kBins * switches_]));
            fetch(place_of(chunks_.data(), heads[(first_ + 2) % kBins * switches_]));
        }
    }
    /// Calls visit(item) for the events of a switch in the present window, in any order.
    void for_each(std::uint32_t bin, auto visit) const {
        for (std::uint32_t c = heads_[first_ * switches_ + bin]; c != kNone; c = chunks_[c].next) {
            fetch_chunk(chunks_[c].next);
            for (const Item item : std::span(chunks_[c].items, chunks_[c].count)) {
                visit(item);
            }
        }
    }

    /// Removes the events of a switch in the present window, which the caller handles itself.
    void drop(std::uint32_t bin);

    // The events of one switch in the present window, in order.
    /// Opens a switch: take() then returns its events.
    void open(std::uint32_t bin);
    /// Takes the next event of the open switch. Returns false if none is due until `end`.
    bool take(TimePs end, Item& item) {
        if (place_ == count_ && !next_slice()) {
            return false;
        }
        if (base_ + time(slice_[place_]) > end) {
            return false;
        }
        item = slice_[place_++];
        --pending_;
        return true;
    }
    bool is_open() const { return open_ != kNoBin; }
    /// Closes the switch. Events that were not taken stay in the queue.
    void close();

    static TimePs time(Item item) { return item >> kTimeShift; }
    static std::uint32_t rank(Item item) {
        return static_cast<std::uint32_t>(item >> kRankShift) & ((1U << kRankBits) - 1);
    }
    static EventKind kind(Item item) { return static_cast<EventKind>(item >> 32 & 7); }
    static std::uint32_t about(Item item) { return static_cast<std::uint32_t>(item); }
    /// Returns the item of an event that is due `after` picoseconds after base(). Items of a switch
    /// compare in the order in which their events are handled.
    static Item item_of(TimePs after, std::uint32_t rank, EventKind kind, std::uint32_t about) {
        return after << kTimeShift | static_cast<Item>(rank) << kRankShift |
               static_cast<Item>(kind) << 32 | about;
    }

  private:
    static constexpr unsigned kRankShift = 35;
    static constexpr unsigned kTimeShift = kRankShift + kRankBits;
    static_assert(kTimeShift + kTimeBits == 64);
    static constexpr std::uint32_t kBins = 4;
    static constexpr std::uint32_t kSlices = 256;

    /// Several cache lines in a row. A processor prefetches lines in a row by itself, but follows a
    /// list from chunk to chunk only as fast as memory answers.
    struct alignas(64) Chunk {
        std::uint32_t next;
        std::uint32_t count;
        Item items[63];
    };
    static_assert(sizeof(Chunk) == 512);
    struct Node {
        Item item;
        std::uint32_t next;
    };
    struct Far {
        TimePs at;
        Spot spot;
        Item item;
        friend bool operator>(const Far& a, const Far& b) { return a.at > b.at; }
    };

    void fetch_chunk(std::uint32_t chunk) const {
        const auto* const at = static_cast<const std::byte*>(place_of(chunks_.data(), chunk));
        for (std::size_t line = 0; line < sizeof(Chunk) / 2; line += 64) {
            fetch(at + line);
        }
    }
    void append(std::uint32_t slot, std::uint32_t bin, Item item) {
        std::uint32_t c = heads_[slot * switches_ + bin];
        if (c == kNone || chunks_[c].count == std::size(Chunk{}.items)) [[unlikely]] {
            c = add_chunk(slot, bin);
        }
        Chunk& chunk = chunks_[c];
        chunk.items[chunk.count++] = item;
    }
    /// Adds an event of the open switch to its slice, or inserts it in its place in the present
    /// slice.
    void put(Item item) {
        const auto slice = static_cast<std::uint32_t>(time(item) >> slice_shift_);
        if (slice != at_slice_) [[likely]] {
            if (node_count_ == nodes_.size()) [[unlikely]] {
                nodes_.resize(2 * nodes_.size());
            }
            nodes_[node_count_] = {item, slices_[slice]};
            slices_[slice] = node_count_++;
            filled_slices_[slice / 64] |= std::uint64_t{1} << slice % 64;
        } else {
            insert(item);
        }
    }
    void insert(Item item) {
        if (count_ == slice_.size()) [[unlikely]] {
            slice_.resize(2 * slice_.size());
        }
        std::uint32_t at = count_++;
        for (; at != place_ && item < slice_[at - 1]; --at) {
            slice_[at] = slice_[at - 1];
        }
        slice_[at] = item;
    }
    /// Goes on to the next slice that has events, and sorts it. Returns false if there is none.
    bool next_slice() {
        while (filled_slices_[word_] == 0) {
            if (++word_ == std::size(filled_slices_)) {
                word_ = 0;
                return false;
            }
        }
        at_slice_ =
            word_ * 64 + static_cast<std::uint32_t>(std::countr_zero(filled_slices_[word_]));
        filled_slices_[word_] &= filled_slices_[word_] - 1;
        place_ = count_ = 0;
        for (std::uint32_t n = std::exchange(slices_[at_slice_], kNone); n != kNone;
             n = nodes_[n].next) {
            insert(nodes_[n].item);
        }
        return true;
    }
    std::uint32_t add_chunk(std::uint32_t slot, std::uint32_t bin);
    std::uint32_t unlink(std::uint32_t bin);
    void push_far(TimePs at, Spot spot, Item item);

    TimePs window_ = 0;
    TimePs base_ = 0;
    std::uint32_t first_ = 0;  ///< Place of the present window in heads_ and filled_.
    std::uint64_t pending_ = 0;
    std::size_t switches_ = 0;
    std::vector<std::uint32_t> heads_;          ///< By window, then by switch: its last chunk.
    std::vector<std::uint64_t> filled_[kBins];  ///< By window: a bitmap of switches with events.
    std::uint32_t filled_bins_[kBins] = {};     ///< By window: how many switches have events.
    Table<Chunk> chunks_;
    std::uint32_t free_chunk_ = kNone;
    std::vector<Far> far_;  ///< A heap, the earliest first.

    // The open switch.
    std::uint32_t open_ = kNoBin;
    unsigned slice_shift_ = 0;
    std::uint32_t at_slice_ = 0;
    std::uint32_t word_ = 0;  ///< Present word of filled_slices_; those before are 0.
    std::uint32_t place_ = 0;
    std::uint32_t count_ = 0;
    /// The present slice: `count_` sorted events. Those before `place_` were taken.
    std::vector<Item> slice_;
    std::uint32_t node_count_ = 0;
    std::vector<Node> nodes_;
    std::uint32_t slices_[kSlices];
    std::uint64_t filled_slices_[kSlices / 64] = {};
};

}  // namespace softib::net
