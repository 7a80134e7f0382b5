// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A queue of events that come in crowds. Events of one stretch of time are kept together and are
// taken together, in the order in which they were pushed. So an event in a crowd costs no more than
// its place in a list.

#include <algorithm>
#include <array>
#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "net/flow/units.h"

namespace softib::net::flow {

class Calendar {
  public:
    /// `stretch_ps`: how long a stretch is, not 0.
    explicit Calendar(TimePs stretch_ps) : stretch_ps_(stretch_ps) {}

    bool empty() const { return heap_.empty(); }
    /// Returns the time of the earliest event; kNever if there is none.
    TimePs next() const { return empty() ? kNever : crowds_[heap_.front().place].first; }

    void push(TimePs at, std::uint32_t event) {
        Crowd& crowd = crowds_[place_of(at)];
        crowd.first = std::min(crowd.first, at);
        crowd.events.push_back(event);
    }

    /// A stretch whose events were taken.
    struct Taken {
        TimePs begin;  ///< First moment of the stretch.
        TimePs end;    ///< First moment after the stretch.
        TimePs first;  ///< Time of its earliest event.

        bool has(TimePs at) const { return at >= begin && at < end; }
    };
    /// Moves the events of the next stretch into `events`; empty() must be false. Events that are
    /// pushed into the same stretch later come with the next call.
    Taken pop(std::vector<std::uint32_t>& events) {
        std::ranges::pop_heap(heap_, Later{});
        const Due due = heap_.back();
        heap_.pop_back();
        places_.erase(due.begin);
        recent_ = {};
        Crowd& crowd = crowds_[due.place];
        const Taken taken{due.begin, due.begin + stretch_ps_, crowd.first};
        events.clear();
        std::swap(events, crowd.events);
        crowd.first = kNever;
        free_.push_back(due.place);
        return taken;
    }

  private:
    /// The events of a stretch.
    struct Crowd {
        TimePs first = kNever;
        std::vector<std::uint32_t> events;
    };
    struct Due {
        TimePs begin = kNever;
        std::uint32_t place = 0;
    };

    struct Later {
        bool operator()(const Due& a, const Due& b) const { return a.begin > b.begin; }
    };

    std::uint32_t place_of(TimePs at) {
        for (const Due& due : recent_) {
            if (at >= due.begin && at - due.begin < stretch_ps_) {
                return due.place;
            }
        }
        const TimePs begin = at - at % stretch_ps_;
        const auto [found, is_new] = places_.try_emplace(begin, 0);
        if (is_new) {
            found->second = take_place();
            heap_.push_back({begin, found->second});
            std::ranges::push_heap(heap_, Later{});
        }
        recent_[oldest_++ % recent_.size()] = {begin, found->second};
        return found->second;
    }
    std::uint32_t take_place() {
        if (free_.empty()) {
            crowds_.emplace_back();
            return static_cast<std::uint32_t>(crowds_.size() - 1);
        }
        const std::uint32_t place = free_.back();
        free_.pop_back();
        return place;
    }

    TimePs stretch_ps_;
    std::vector<Due> heap_;
    /// By begin of a stretch: place in crowds_.
    std::unordered_map<TimePs, std::uint32_t> places_;
    std::vector<Crowd> crowds_;
    std::vector<std::uint32_t> free_;
    std::array<Due, 4> recent_{};  ///< Stretches used last, which are found without a search.
    std::size_t oldest_ = 0;
};

}  // namespace softib::net::flow
