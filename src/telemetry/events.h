// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Events and alarms of a fabric. An event is something that was seen once or several times at one
// object (a port, a node, the fabric). An alarm is an event that stays active until it is cleared.
// Events of the same kind at the same object within a minute are one event with a count.

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "view/checks.h"

namespace softib::telemetry {

using view::Severity;
using view::to_string;

struct Event {
    std::uint64_t id = 0;
    /// The book's revision when this event last changed. A client asks for what changed after one.
    std::uint64_t revision = 0;
    Severity severity{};
    std::string kind;      ///< "link_down"
    std::string category;  ///< "link", "node", "manager", "threshold", "telemetry", "external"
    std::string object;    ///< "leaf0:3", or the fabric.
    std::string text;
    std::string peer =
        {};  ///< The port at the other end of a cable; empty: it is not about a cable.
    std::int64_t first_us = 0;
    std::int64_t last_us = 0;
    std::uint64_t count = 1;
    bool alarm = false;   ///< Whether the event is an alarm.
    bool active = false;  ///< Whether the alarm has not been cleared yet.
};

/// Returns what to do about an alarm of a kind; empty for a kind of a user's rule.
std::string_view remedy_of(std::string_view kind);

class EventBook {
  public:
    static constexpr std::size_t kKept = 10'000;
    static constexpr std::int64_t kSameForUs = 60'000'000;

    /// The part of an event that its reporter provides; the book adds the rest.
    struct Report {
        Severity severity{};
        std::string kind;
        std::string category;
        std::string object;
        std::string text;
        bool alarm = false;
        std::string peer = {};
    };
    /// Adds something that was seen, or counts it at the event of the same kind and object. Returns
    /// the event's id.
    std::uint64_t raise(Report report, std::int64_t now_us);
    /// Makes an alarm inactive. Does nothing if it is not active.
    void clear(std::string_view kind, std::string_view object, std::int64_t now_us);
    /// Changes the text and the peer of an alarm that is active.
    void reword(std::string_view kind, std::string_view object, std::string text, std::string peer);
    bool is_active(std::string_view kind, std::string_view object) const;
    /// Forgets an event. Returns false if there is none with this id.
    bool remove(std::uint64_t id);

    const std::deque<Event>& events() const { return events_; }  ///< The oldest first.
    std::vector<Event> alarms() const;                           ///< The alarms that are active.
    /// Returns the events whose revision is greater than this one.
    std::vector<Event> changed_since(std::uint64_t revision) const;
    std::uint64_t revision() const { return revision_; }
    /// Takes the events that an earlier process has saved, the oldest first.
    void restore(std::vector<Event> events);

  private:
    using Key = std::pair<std::string, std::string>;

    Event* find(std::string_view kind, std::string_view object);

    std::deque<Event> events_;
    /// Id of the last event of a kind at an object.
    std::map<Key, std::uint64_t, std::less<>> last_;
    std::uint64_t next_id_ = 1;
    std::uint64_t revision_ = 0;
};

}  // namespace softib::telemetry
