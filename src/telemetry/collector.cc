// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/collector.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "telemetry/clocks.h"

namespace softib::telemetry {

namespace {

constexpr std::int64_t kClockStepUs = 2'000'000;  // A smaller step is an adjustment (NTP).

/// Returns whether a reading can be compared with the snapshot before it: it has as many ports.
bool goes_on(const Snapshot& before, const Reading& now) {
    return before.number != 0 && before.sample.counts.size() == now.sample.counts.size();
}

}  // namespace

Collector::Collector(std::unique_ptr<Source> source, std::vector<Rule> rules)
    : source_(std::move(source)), watch_(std::move(rules)) {}

std::shared_ptr<Snapshot> Collector::failed(const Snapshot& before, std::string trouble) {
    auto next = std::make_shared<Snapshot>(before);
    next->trouble = std::move(trouble);
    next->rates.assign(next->rates.size(), {});
    return next;
}

/// Reads the source. The reading has all notices since the last step, also those of fresh().
std::expected<Reading, std::string> Collector::read() {
    const std::lock_guard lock(source_mutex_);
    auto reading = source_->read();
    if (reading && !notices_.empty()) {
        reading->notices.insert(reading->notices.begin(), notices_.begin(), notices_.end());
        notices_.clear();
    }
    return reading;
}

std::shared_ptr<const Snapshot> Collector::fresh() {
    const std::shared_ptr<const Snapshot> last = snapshot();
    if (source_->pace() != Pace::kQuick || !last->trouble.empty()) {
        return last;
    }
    const auto is_young = [](const Snapshot& snapshot) {
        return monotonic_ns() - snapshot.sample.time_ns < kFreshNs;
    };
    const std::lock_guard lock(source_mutex_);
    if (fresh_ && is_young(*fresh_)) {
        return fresh_;
    }
    if (is_young(*last)) {
        return last;
    }
    auto reading = source_->read();
    if (!reading) {
        return last;  // The next step will report the trouble.
    }
    std::ranges::move(reading->notices, std::back_inserter(notices_));
    auto now = std::make_shared<Snapshot>();
    now->number = last->number;
    now->outage = last->outage;
    now->instance = reading->instance;
    now->inventory = std::move(reading->inventory);
    now->sample = std::move(reading->sample);
    now->rates.assign(now->sample.counts.size(), {});
    now->read_seconds = last->read_seconds;
    fresh_ = now;
    return fresh_;
}

std::shared_ptr<const Snapshot> Collector::step() {
    const std::uint64_t begin_ns = monotonic_ns();
    auto reading = read();
    const std::int64_t now_us = wall_us();
    const std::shared_ptr<const Snapshot> before = snapshot();
    std::shared_ptr<Snapshot> next;
    if (!reading) {
        next = failed(*before, reading.error());
        const std::lock_guard lock(mutex_);
        if (!book_.is_active("fabric_gone", source_->name())) {
            book_.raise({Severity::kCritical, "fabric_gone", "telemetry", source_->name(),
                         reading.error(), true},
                        now_us);
        }
        last_ = next;
        return next;
    }
    if (goes_on(*before, *reading) && reading->sample.time_ns == before->sample.time_ns &&
        before->trouble.empty()) {
        return before;  // The source is a recording that has nothing new.
    }
    next = std::make_shared<Snapshot>();
    next->number = before->number + 1;
    next->instance = reading->instance;
    next->inventory = std::move(reading->inventory);
    if (goes_on(*before, *reading)) {
        next->rates = rates_between(*next->inventory, before->sample, reading->sample);
    } else {
        next->rates.assign(reading->sample.counts.size(), {});
    }
    next->sample = std::move(reading->sample);
    next->read_seconds = static_cast<double>(monotonic_ns() - begin_ns) / 1e9;
    const std::int64_t offset =
        next->sample.wall_us - static_cast<std::int64_t>(next->sample.time_ns / 1'000);
    const std::lock_guard lock(mutex_);
    book_.clear("fabric_gone", source_->name(), now_us);
    if (clock_offset_us_ != 0 && std::abs(offset - clock_offset_us_) > kClockStepUs) {
        book_.raise({Severity::kWarning, "clock_set", "telemetry", source_->name(),
                     fmt::format("the clock of this machine was set {} by {:.1f} s",
                                 offset < clock_offset_us_ ? "back" : "ahead",
                                 static_cast<double>(std::abs(offset - clock_offset_us_)) / 1e6),
                     false},
                    now_us);
    }
    clock_offset_us_ = offset;
    watch_.follow(*before, *next, reading->notices, book_);
    next->outage = watch_.outage();
    last_ = next;
    return next;
}

std::shared_ptr<const Snapshot> Collector::snapshot() const {
    const std::lock_guard lock(mutex_);
    return last_;
}

std::vector<Event> Collector::events() const {
    const std::lock_guard lock(mutex_);
    return {book_.events().begin(), book_.events().end()};
}

std::vector<Event> Collector::alarms() const {
    const std::lock_guard lock(mutex_);
    return book_.alarms();
}

std::vector<Event> Collector::events_since(std::uint64_t revision) const {
    const std::lock_guard lock(mutex_);
    return book_.changed_since(revision);
}

void Collector::expect(Inventory inventory) {
    const std::lock_guard lock(mutex_);
    watch_.expect(std::move(inventory));
}

void Collector::accept() {
    const std::lock_guard lock(mutex_);
    watch_.accept();
}

void Collector::with_events(const std::function<void(EventBook&)>& change) {
    const std::lock_guard lock(mutex_);
    change(book_);
}

}  // namespace softib::telemetry
