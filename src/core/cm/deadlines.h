// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Timers, each with a number and a deadline. Of several with the same deadline, the one with the
// smallest number comes first.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

namespace softib::cm {

class Deadlines {
  public:
    void set(std::uint32_t id, std::uint64_t at_ns) {
        clear(id);
        due_.emplace(at_ns, id);
        when_.emplace(id, at_ns);
    }
    void clear(std::uint32_t id) {
        if (const auto found = when_.find(id); found != when_.end()) {
            due_.erase({found->second, id});
            when_.erase(found);
        }
    }
    std::uint64_t next_ns() const { return due_.empty() ? UINT64_MAX : due_.begin()->first; }
    /// Removes the first timer that is due and returns its number; std::nullopt if none is due.
    std::optional<std::uint32_t> take(std::uint64_t now_ns) {
        if (due_.empty() || due_.begin()->first > now_ns) {
            return std::nullopt;
        }
        const std::uint32_t id = due_.begin()->second;
        clear(id);
        return id;
    }

  private:
    std::set<std::pair<std::uint64_t, std::uint32_t>> due_;
    std::map<std::uint32_t, std::uint64_t> when_;
};

}  // namespace softib::cm
