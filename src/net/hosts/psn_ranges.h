// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A set of packet sequence numbers that mostly come in runs: ranges in increasing order, none of
// which touches another.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/check.h"

namespace softib::net {

class PsnRanges {
  public:
    bool empty() const { return ranges_.empty(); }
    /// Returns how many numbers are in the set.
    std::uint32_t count() const { return count_; }
    bool contains(std::uint32_t psn) const {
        const auto at = behind(psn);
        return at != ranges_.begin() && psn < std::prev(at)->end;
    }
    /// Adds all numbers from `first` to before `end`.
    void add(std::uint32_t first, std::uint32_t end) {
        // All ranges that touch the new one become part of it.
        const auto from = std::ranges::lower_bound(ranges_, first, {}, &Range::end);
        auto to = from;
        for (; to != ranges_.end() && to->first <= end; ++to) {
            first = std::min(first, to->first);
            end = std::max(end, to->end);
            count_ -= to->end - to->first;
        }
        count_ += end - first;
        ranges_.insert(ranges_.erase(from, to), Range{first, end});
    }
    /// Removes the lowest number and returns it. The set must not be empty.
    std::uint32_t take_first() {
        SOFTIB_CHECK(!ranges_.empty());
        Range& lowest = ranges_.front();
        const std::uint32_t psn = lowest.first++;
        if (lowest.first == lowest.end) {
            ranges_.erase(ranges_.begin());
        }
        --count_;
        return psn;
    }
    /// Removes all numbers below `psn`.
    void drop_below(std::uint32_t psn) {
        while (!ranges_.empty() && ranges_.front().first < psn) {
            Range& lowest = ranges_.front();
            const std::uint32_t end = std::min(lowest.end, psn);
            count_ -= end - lowest.first;
            if (end == lowest.end) {
                ranges_.erase(ranges_.begin());
            } else {
                lowest.first = end;
            }
        }
    }
    /// Returns the first number from `psn` on that is not in the set.
    std::uint32_t first_missing(std::uint32_t psn) const {
        const auto at = behind(psn);
        return at != ranges_.begin() && psn < std::prev(at)->end ? std::prev(at)->end : psn;
    }
    /// Calls visit(first, end) for each run of numbers from `from` to before `to` that are not in
    /// the set.
    void for_each_gap(std::uint32_t from, std::uint32_t to, auto visit) const {
        for (std::uint32_t first = first_missing(from); first < to;) {
            const auto next = behind(first);
            const std::uint32_t end = next == ranges_.end() ? to : std::min(next->first, to);
            visit(first, end);
            first = first_missing(end);
        }
    }

  private:
    struct Range {
        std::uint32_t first = 0;
        std::uint32_t end = 0;  ///< One more than the last.
    };
    /// Returns the first range that begins above `psn`.
    std::vector<Range>::const_iterator behind(std::uint32_t psn) const {
        return std::ranges::upper_bound(ranges_, psn, {}, &Range::first);
    }

    std::vector<Range> ranges_;
    std::uint32_t count_ = 0;
};

}  // namespace softib::net
