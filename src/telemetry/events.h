// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What happened in a fabric, and what is wrong with it now. An event is something that was seen
// once or several times at one object; an alarm is an event that goes on until it is cleared.
// Events of the same kind at the same object within a minute are one event with a count.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace softib::telemetry {

enum class Severity : std::uint8_t { kInfo, kWarning, kMinor, kCritical };
const char* to_string(Severity severity);  ///< "Info", "Warning", "Minor", "Critical".

struct Event {
    std::uint64_t id = 0;
    std::uint64_t revision = 0;  ///< Grows with each change of any event: what a client asks by.
    Severity severity{};
    std::string kind;      ///< "link_down"
    std::string category;  ///< "link", "node", "manager", "threshold", "telemetry", "external"
    std::string object;    ///< "leaf0:3", or the fabric.
    std::string text;
    std::int64_t first_us = 0;
    std::int64_t last_us = 0;
    std::uint64_t count = 1;
    bool alarm = false;   ///< It goes on,
    bool active = false;  ///< and still does.
};

class EventBook {
  public:
    static constexpr std::size_t kKept = 10'000;
    static constexpr std::int64_t kSameForUs = 60'000'000;

    /// What is new of an event; the book knows the rest.
    struct Report {
        Severity severity{};
        std::string kind;
        std::string category;
        std::string object;
        std::string text;
        bool alarm = false;
    };
    /// Something was seen. Returns its number.
    std::uint64_t raise(Report report, std::int64_t now_us);
    /// What was wrong is over. Nothing happens if it was not.
    void clear(std::string_view kind, std::string_view object, std::int64_t now_us);
    bool is_active(std::string_view kind, std::string_view object) const;
    /// Forgets an event. Returns false if there is none of this number.
    bool remove(std::uint64_t id);

    const std::deque<Event>& events() const { return events_; }  ///< The oldest first.
    std::vector<Event> alarms() const;                           ///< Those that are active.
    std::vector<Event> changed_since(std::uint64_t revision) const;
    std::uint64_t revision() const { return revision_; }
    /// Begins with what an earlier process had written down, the oldest first.
    void restore(std::vector<Event> events);

  private:
    using Key = std::pair<std::string, std::string>;

    Event* find(std::string_view kind, std::string_view object);

    std::deque<Event> events_;
    std::map<Key, std::uint64_t, std::less<>>
        last_;  ///< Number of the last of its kind and object.
    std::uint64_t next_id_ = 1;
    std::uint64_t revision_ = 0;
};

}  // namespace softib::telemetry
