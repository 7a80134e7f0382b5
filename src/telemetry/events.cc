// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/events.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace softib::telemetry {

namespace {

struct Remedy {
    std::string_view kind;
    std::string_view text;
};
constexpr Remedy kRemedies[] = {
    {"node_down", "see whether it has power and runs, then its cables"},
    {"link_down", "reseat the cable at both ends, or replace it; a port may be disabled, too"},
    {"no_answer", "see whether the node runs: its link is up, and its agent is silent"},
    {"flapping", "reseat or replace the cable; look at symbol errors of both ends"},
    {"one_way_cable", "replace the cable: one of its directions is dead"},
    {"slow_link", "see which speeds both ends support and have enabled, then reseat the cable"},
    {"bit_error_rate", "clean, reseat or replace the cable"},
    {"symbol_errors", "clean, reseat or replace the cable"},
    {"receive_errors", "clean, reseat or replace the cable"},
    {"link_integrity", "clean, reseat or replace the cable"},
    {"link_recoveries", "clean, reseat or replace the cable"},
    {"buffer_overruns", "see whether both ends have the same lanes and credits"},
    {"discards", "look for a port behind it that is down, or that waits long"},
    {"congestion", "see which flows pass here; spread them, or add cables"},
    {"partition_violations", "see whether this host should be in the partition that it uses"},
    {"vl15_dropped", "see whether several programs send management packets at once"},
    {"fabric_gone", "start the fabric, or the device through which it is read"},
};

}  // namespace

std::string_view remedy_of(std::string_view kind) {
    const auto* const found = std::ranges::find(kRemedies, kind, &Remedy::kind);
    return found == std::end(kRemedies) ? std::string_view{} : found->text;
}

Event* EventBook::find(std::string_view kind, std::string_view object) {
    const auto number = last_.find(Key(kind, object));
    if (number == last_.end()) {
        return nullptr;
    }
    const auto event = std::ranges::lower_bound(events_, number->second, {}, &Event::id);
    return event == events_.end() || event->id != number->second ? nullptr : &*event;
}

std::uint64_t EventBook::raise(Report report, std::int64_t now_us) {
    Event* const known = find(report.kind, report.object);
    // If the clock was set back, the difference is negative, and the event counts as recent.
    const bool again = known != nullptr && (known->active || now_us - known->last_us < kSameForUs);
    if (again) {
        known->last_us = now_us;
        ++known->count;
        known->alarm = known->alarm || report.alarm;
        known->active = report.alarm;
        known->severity = std::max(known->severity, report.severity);
        known->text = std::move(report.text);
        known->peer = std::move(report.peer);
        known->revision = ++revision_;
        return known->id;
    }
    if (events_.size() >= kKept) {
        const Key key(events_.front().kind, events_.front().object);
        if (const auto last = last_.find(key);
            last != last_.end() && last->second == events_.front().id) {
            last_.erase(last);
        }
        events_.pop_front();
    }
    last_[Key(report.kind, report.object)] = next_id_;
    events_.push_back({.id = next_id_++,
                       .revision = ++revision_,
                       .severity = report.severity,
                       .kind = std::move(report.kind),
                       .category = std::move(report.category),
                       .object = std::move(report.object),
                       .text = std::move(report.text),
                       .peer = std::move(report.peer),
                       .first_us = now_us,
                       .last_us = now_us,
                       .count = 1,
                       .alarm = report.alarm,
                       .active = report.alarm});
    return events_.back().id;
}

void EventBook::clear(std::string_view kind, std::string_view object, std::int64_t now_us) {
    if (Event* const event = find(kind, object); event != nullptr && event->active) {
        event->active = false;
        event->last_us = now_us;
        event->revision = ++revision_;
    }
}

void EventBook::reword(std::string_view kind, std::string_view object, std::string text,
                       std::string peer) {
    Event* const event = find(kind, object);
    if (event != nullptr && event->active && (event->text != text || event->peer != peer)) {
        event->text = std::move(text);
        event->peer = std::move(peer);
        event->revision = ++revision_;
    }
}

bool EventBook::is_active(std::string_view kind, std::string_view object) const {
    const Event* const event = const_cast<EventBook*>(this)->find(kind, object);
    return event != nullptr && event->active;
}

bool EventBook::remove(std::uint64_t id) {
    const auto event = std::ranges::lower_bound(events_, id, {}, &Event::id);
    if (event == events_.end() || event->id != id) {
        return false;
    }
    if (const auto last = last_.find(Key(event->kind, event->object));
        last != last_.end() && last->second == id) {
        last_.erase(last);
    }
    events_.erase(event);
    ++revision_;
    return true;
}

std::vector<Event> EventBook::alarms() const {
    std::vector<Event> active;
    std::ranges::copy_if(events_, std::back_inserter(active), &Event::active);
    return active;
}

std::vector<Event> EventBook::changed_since(std::uint64_t revision) const {
    std::vector<Event> changed;
    std::ranges::copy_if(events_, std::back_inserter(changed),
                         [&](const Event& event) { return event.revision > revision; });
    return changed;
}

void EventBook::restore(std::vector<Event> events) {
    for (Event& event : events) {
        last_[Key(event.kind, event.object)] = event.id;
        next_id_ = std::max(next_id_, event.id + 1);
        revision_ = std::max(revision_, event.revision);
        events_.push_back(std::move(event));
    }
}

}  // namespace softib::telemetry
