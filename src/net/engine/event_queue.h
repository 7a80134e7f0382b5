// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Pending events of a simulation. Nearly all of them lie within a microsecond or two, so they are
// in a ring of narrow time buckets with a bitmap of those that are not empty; later events wait in
// a heap. A bucket's events are sorted when its time has come, or a little earlier if look() asks
// what comes next. Events that are pushed into a sorted bucket are inserted in their place.
//
// The order is total: by time, then by link, then by kind, then by the event's extra word. Nothing
// depends on the order of insertion, on the width of a bucket, or on how many queues share the
// work. Where two events agree in all four, it does not matter which of them comes first.
//
// An event holds the low 32 bits of its time in picoseconds: all events of a bucket share the rest.

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "net/engine/key_sort.h"
#include "net/plant/pages.h"
#include "net/plant/units.h"

namespace softib::net {

/// What an event is. Events of one moment and link are handled in this order.
enum class EventKind : std::uint8_t {
    kArrival,  ///< A packet can go on from a switch, or is whole at an HCA.
    kReady,    ///< A packet that comes in slower than it goes out can go on.
    kRelease,  ///< Room in a buffer is free that was too far off for the slots of its Lane.
    kWake,     ///< A port may have something to send.
    kTimer,    ///< An HCA's timer.
    kLimit,    ///< Packets at a port may have waited too long.
    kTrained,  ///< The cable at a port has been trained.
    kPause,    ///< On Ethernet: a port is told to pause a lane, or to go on.
};

struct Event {
    /// From the upper bits down: time (low 32 bits), link, kind.
    std::uint64_t key = 0;
    std::uint32_t packet = kNone;
    std::uint32_t extra = 0;

    std::uint32_t link() const { return static_cast<std::uint32_t>(key) >> 3; }
    EventKind kind() const { return static_cast<EventKind>(key & 7); }
    std::uint32_t time_low() const { return static_cast<std::uint32_t>(key >> 32); }
};
static_assert(sizeof(Event) == 16);

class EventQueue {
  public:
    /// A bucket is 2^width picoseconds wide, the ring 2^span.
    explicit EventQueue(unsigned width = 10, unsigned span = 21);

    TimePs now() const { return now_; }
    /// Lets time pass without an event. No event may be due before `at`.
    void set_now(TimePs at) { now_ = at; }
    bool empty() const { return pending_ == 0; }
    std::uint64_t pending() const { return pending_; }

    void push(TimePs at, std::uint32_t link, EventKind kind, std::uint32_t packet = kNone,
              std::uint32_t extra = 0) {
        const Event event{(at & UINT32_MAX) << 32 | link << 3 | static_cast<std::uint32_t>(kind),
                          packet, extra};
        const std::uint64_t ahead = (at >> width_) - bucket_;
        ++pending_;
        if (ahead - 1 < buckets_ - 1) [[likely]] {
            append(static_cast<std::uint32_t>(at >> width_) & mask_, event);
        } else {
            push_rare(at, event);
        }
    }

    /// Returns a time before which no event is due; kNever if none is pending.
    TimePs earliest() const;
    /// Returns whether an event is due at `until` or before. If so, the caller must pop() it before
    /// it pushes anything.
    bool due(TimePs until) {
        if (place_ == current_.size() && !load(until >> width_)) [[unlikely]] {
            return false;
        }
        return time_of(current_[place_]) <= until;
    }
    /// Takes the next event, which is due, and sets now() to its time.
    Event pop() {
        const Event event = current_[place_++];
        now_ = time_of(event);
        --pending_;
        return event;
    }

    /// Returns the events that come next, for prefetching: at least `events` of them if that many
    /// come soon.
    std::span<const Event> look(std::size_t events) {
        if (current_.size() - place_ < events) {
            load_more(events);
        }
        begins_ = false;
        fetch_chunk();
        return std::span(current_).subspan(place_);
    }
    /// Returns whether the queue has gone on to events that look() has not returned.
    bool begins() const { return begins_; }
    std::size_t bytes() const;
    /// Frees the memory that many events took; does nothing while events are pending.
    void give_back();

  private:
    struct alignas(64) Chunk {
        std::uint32_t next;
        std::uint32_t count;
        Event events[15];
    };
    static_assert(sizeof(Chunk) == 256);
    struct Far {
        TimePs at;
        Event event;
        friend bool operator>(const Far& a, const Far& b) {
            return a.at > b.at;  // Events of one time are sorted with their bucket later on.
        }
    };

    void append(std::uint32_t slot, const Event& event) {
        std::uint32_t c = heads_[slot];
        if (c == kNone || chunks_[c].count == std::size(Chunk{}.events)) [[unlikely]] {
            c = add_chunk(slot);
        }
        Chunk& chunk = chunks_[c];
        chunk.events[chunk.count++] = event;
    }
    /// Returns the time of an event in `current_`: their times lie close together.
    TimePs time_of(const Event& event) const {
        const TimePs begin = bucket_ << width_;
        const auto after =
            static_cast<std::int32_t>(event.time_low() - static_cast<std::uint32_t>(begin));
        return begin + static_cast<TimePs>(std::int64_t{after});
    }
    /// Prefetches one more chunk of the bucket that follows the last one loaded.
    void fetch_chunk() {
        if (ahead_ != kNone) {
            ahead_ = chunks_[ahead_].next;
            fetch_lines(ahead_);
        }
    }
    void fetch_lines(std::uint32_t chunk) const {
        if (chunk != kNone) {
            const auto* const at = reinterpret_cast<const std::byte*>(&chunks_[chunk]);
            for (std::size_t line = 0; line < sizeof(Chunk); line += 64) {
                __builtin_prefetch(at + line);
            }
        }
    }
    std::uint32_t add_chunk(std::uint32_t slot);
    void push_rare(TimePs at, const Event& event);
    void put_in_place(const Event& event);
    bool load(std::uint64_t bucket_max);
    void load_more(std::size_t events);
    void append_bucket(std::uint64_t bucket);
    std::uint64_t next_bucket() const;
    std::uint64_t next_loaded() const;

    unsigned width_;
    std::uint64_t buckets_;
    std::uint32_t mask_;
    TimePs now_ = 0;
    std::uint64_t bucket_ = 0;  ///< The last one that was loaded into `current_`.
    std::uint64_t pending_ = 0;
    std::size_t place_ = 0;
    bool begins_ = false;
    std::vector<Event> current_;  ///< Sorted; those before `place_` were popped.
    std::vector<Event> bucket_events_;
    KeySort<Event> sorter_;
    std::vector<std::uint32_t> heads_;   ///< By bucket: its last chunk.
    std::vector<std::uint64_t> filled_;  ///< Bitmap of buckets.
    Table<Chunk> chunks_;
    std::uint32_t free_chunk_ = kNone;
    std::uint32_t ahead_ = kNone;  ///< The chunk that was fetched last, see fetch_chunk().
    std::vector<Far> far_;         ///< A heap, the earliest first.
};

}  // namespace softib::net
