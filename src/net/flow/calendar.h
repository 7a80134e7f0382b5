// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What is to happen when, for events that come in crowds: those of one stretch of time stand
// together and are taken together, in the order in which they were put in. Crowds cost an event no
// more than its place in a list.

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
    /// `stretch_ps` is how long a stretch is, not 0.
    explicit Calendar(TimePs stretch_ps) : stretch_ps_(stretch_ps) {}

    bool empty() const { return heap_.empty(); }
    /// The earliest event; kNever: there is none.
    TimePs next() const { return empty() ? kNever : crowds_[heap_.front().place].first; }

    void push(TimePs at, std::uint32_t event) {
        Crowd& crowd = crowds_[place_of(at)];
        crowd.first = std::min(crowd.first, at);
        crowd.events.push_back(event);
    }

    struct Taken {
        TimePs begin;  ///< Of the stretch.
        TimePs end;
        TimePs first;  ///< The earliest of its events.

        bool has(TimePs at) const { return at >= begin && at < end; }
    };
    /// Takes the next stretch; not if empty(). What is put into the same stretch later comes next.
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
    std::unordered_map<TimePs, std::uint32_t> places_;  ///< By begin, into crowds_.
    std::vector<Crowd> crowds_;
    std::vector<std::uint32_t> free_;
    std::array<Due, 4> recent_{};  ///< Found without a search.
    std::size_t oldest_ = 0;
};

}  // namespace softib::net::flow
