// SPDX-License-Identifier: BSD-2-Clause
#include "net/flow/flow_model.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace softib::net::flow {

namespace {

std::vector<Rate> capacities_of(const FlowNetwork& network) {
    std::vector<Rate> capacities(network.link_count());
    for (std::uint32_t link = 0; link < capacities.size(); ++link) {
        capacities[link] = network.capacity(link);
    }
    return capacities;
}

Work part_of(Work work, std::uint32_t share) {
    return static_cast<Work>(Wide{work} * share / kWhole);
}

}  // namespace

FlowModel::FlowModel(const FlowNetwork& network, const FlowConfig& config)
    : network_(network),
      config_(config),
      rates_(capacities_of(network)),
      calendar_(config.stretch_ps),
      last_pair_(network.end_count()),
      forgotten_(network.link_count()) {}

bool FlowModel::add(const Message& message) {
    SOFTIB_CHECK(message.start >= now_);
    std::uint32_t pair = kNone;
    if (message.from != message.to) {
        pair = find_pair(message.from, message.to);
        if (pair == kNone) {
            return false;
        }
        ++pairs_[pair].open;
    }
    const std::uint32_t index = take_open(pair);
    const std::uint32_t grh = network_.apart(message.from, message.to) ? kGrhBytes : 0;
    open_[index] = {.work = work_of(config_.wire.bytes_of(message.bytes, grh)),
                    .start = message.start,
                    .tag = message.tag,
                    .pair = pair};
    calendar_.push(message.start, index | kBegins);
    ++unfinished_;
    return true;
}

std::span<const Completion> FlowModel::step() {
    completions_.clear();
    begun_.clear();
    if (idle()) {
        return completions_;
    }
    const Calendar::Taken taken = calendar_.pop(events_);
    now_ = std::max(now_, taken.first);
    ++steps_;
    for (const std::uint32_t event : events_) {
        if ((event & kBegins) != 0) {
            begin(event & ~kBegins);
        } else if (taken.has(pairs_[event].look_at)) {
            look_at(event, taken);
        }
    }
    for (const std::uint32_t id : rates_.solve(now_)) {
        serve(pairs_[id], now_);
        pairs_[id].rate = rates_.rate(id);
        schedule(id);
    }
    return completions_;
}

/// Ends a pair's first message if that is due in the stretch. If the pair's rate has gone down
/// since this was scheduled, the message ends later.
void FlowModel::look_at(std::uint32_t id, const Calendar::Taken& taken) {
    Pair& pair = pairs_[id];
    pair.look_at = kNever;
    const TimePs due = due_of(pair);
    if (taken.has(due)) {
        end(id, due);
    } else {
        schedule(id);
    }
}

// Pairs.

/// Returns the number of a pair, which is made if necessary; kNone if there is no way.
std::uint32_t FlowModel::find_pair(std::uint32_t from, std::uint32_t to) {
    LastPair& last = last_pair_[from];
    if (last.to == to) {
        return last.pair;
    }
    const auto found = pair_of_.find(key(from, to));
    const std::uint32_t pair = found != pair_of_.end() ? found->second : add_pair(from, to);
    if (pair != kNone) {
        last = {to, pair};
    }
    return pair;
}

std::uint32_t FlowModel::add_pair(std::uint32_t from, std::uint32_t to) {
    const auto latency = network_.find_way(from, to, way_);
    if (!latency) {
        return kNone;
    }
    forget_idle();
    const std::uint32_t id = rates_.add(way_);
    if (id == pairs_.size()) {
        pairs_.emplace_back();
        pair_ends_.emplace_back();
    }
    SOFTIB_CHECK(*latency <= UINT32_MAX);
    pairs_[id] = {.latency_ps = static_cast<std::uint32_t>(*latency), .alone = rates_.alone(id)};
    for (const std::uint32_t other : rates_.no_longer_alone()) {
        pairs_[other].alone = false;
        rates_.set_weight(other, pairs_[other].weight);
    }
    pair_ends_[id] = {.from = from, .to = to};
    pair_of_.emplace(key(from, to), id);
    return id;
}

/// Forgets pairs without messages if there are many, those first that have had none for longest.
void FlowModel::forget_idle() {
    while (idle_.size() > kIdleMax) {
        const std::uint32_t id = idle_.front();
        if (rates_.changed(id)) {
            return;
        }
        idle_.pop_front();
        const PairEnds& ends = pair_ends_[id];
        pairs_[id].listed = false;
        if (pairs_[id].open != 0) {
            continue;
        }
        rates_.for_each_hop(id, [&](std::uint32_t link, std::uint32_t share) {
            forgotten_[link] += part_of(pairs_[id].begun, share);
        });
        pairs_[id].begun = 0;
        if (pairs_[id].last != kNone) {
            free_open_.push_back(pairs_[id].last);
        }
        rates_.remove(id);
        pair_of_.erase(key(ends.from, ends.to));
        if (last_pair_[ends.from].pair == id) {
            last_pair_[ends.from] = {};
        }
        return;
    }
}

// Messages.

/// Returns a record for a message. The record of a pair's last message is kept for the pair's next
/// one: where hosts repeat themselves, pairs and messages are then read in the same order, which is
/// twice as fast.
std::uint32_t FlowModel::take_open(std::uint32_t pair) {
    if (pair != kNone && pairs_[pair].first == kNone && pairs_[pair].last != kNone) {
        return std::exchange(pairs_[pair].last, kNone);
    }
    if (free_open_.empty()) {
        SOFTIB_CHECK(open_.size() < kBegins);
        open_.emplace_back();
        return static_cast<std::uint32_t>(open_.size() - 1);
    }
    const std::uint32_t index = free_open_.back();
    free_open_.pop_back();
    return index;
}

void FlowModel::begin(std::uint32_t message) {
    Open& open = open_[message];
    begun_.push_back({open.tag, open.start});
    if (open.pair == kNone) {
        complete(open, open.start, 0);
        free_open_.push_back(message);
        return;
    }
    Pair& pair = pairs_[open.pair];
    serve(pair, open.start);
    pair.begun += open.work;
    open.work += pair.served;
    line_up(pair, message);
    ++pair.weight;
    weigh(open.pair);
}

/// Puts a message into the list of its pair, which is in the order of ends. Most messages come in
/// that order.
void FlowModel::line_up(Pair& pair, std::uint32_t message) {
    const Work end = open_[message].work;
    open_[message].next = kNone;
    if (pair.first == kNone) {
        pair.first = pair.last = message;
    } else if (open_[pair.last].work <= end) {
        open_[pair.last].next = message;
        pair.last = message;
    } else if (end < open_[pair.first].work) {
        open_[message].next = pair.first;
        pair.first = message;
    } else {
        std::uint32_t before = pair.first;
        while (open_[open_[before].next].work <= end) {
            before = open_[before].next;
        }
        open_[message].next = open_[before].next;
        open_[before].next = message;
    }
}

/// Ends the first message of a pair, and all that end at the same time.
void FlowModel::end(std::uint32_t id, TimePs at) {
    Pair& pair = pairs_[id];
    pair.since = at;
    pair.served = open_[pair.first].work;
    while (pair.first != kNone && open_[pair.first].work <= pair.served) {
        const std::uint32_t message = pair.first;
        pair.first = open_[message].next;
        --pair.weight;
        --pair.open;
        complete(open_[message], pair.since, pair.latency_ps);
        if (pair.first != kNone) {
            free_open_.push_back(message);
        }
    }
    if (pair.open == 0 && !pair.listed) {
        pair.listed = true;
        idle_.push_back(id);
    }
    weigh(id);
}

void FlowModel::complete(const Open& open, TimePs sent, TimePs latency) {
    completions_.push_back(
        {.tag = open.tag, .start = open.start, .sent = sent, .delivered = sent + latency});
    --unfinished_;
    ++ended_;
}

/// Brings the work done for a pair up to `until`. A pair may be ahead of that within a stretch.
void FlowModel::serve(Pair& pair, TimePs until) {
    if (until <= pair.since) {
        return;
    }
    if (pair.weight != 0) {
        pair.served += work_done(pair.rate, until - pair.since);
    }
    pair.since = until;
}

/// Adapts the rate of a pair that has more or fewer messages than before.
void FlowModel::weigh(std::uint32_t id) {
    Pair& pair = pairs_[id];
    if (!pair.alone) {
        rates_.set_weight(id, pair.weight);
        return;
    }
    if (pair.weight == 0) {
        return;
    }
    if (pair.weight != 1 || !pair.knows_rate) {
        pair.rate = rates_.lone_rate(id, pair.weight);
        pair.knows_rate = pair.weight == 1;
    }
    schedule(id);
}

TimePs FlowModel::due_of(const Pair& pair) {
    const Work end = open_[pair.first].work;
    return pair.since + (end > pair.served ? time_for_work(end - pair.served, pair.rate) : 0);
}

/// Schedules look_at() for when a pair's first message ends. An earlier event stays and counts: so
/// a rate that goes down and up again costs no event.
void FlowModel::schedule(std::uint32_t id) {
    Pair& pair = pairs_[id];
    SOFTIB_CHECK(pair.first != kNone && pair.rate != 0);
    const TimePs due = due_of(pair);
    if (due < pair.look_at) {
        pair.look_at = due;
        calendar_.push(due, id);
    }
}

TimePs FlowModel::time_for_work(Work work, Rate rate) {
    if (work != known_work_ || rate != known_rate_) {
        known_work_ = work;
        known_rate_ = rate;
        known_time_ = time_for(work, rate);
    }
    return known_time_;
}

/// Returns the work that a pair has carried until now, for messages that have ended and for those
/// that have not.
Work FlowModel::carried(const Pair& pair) const {
    const TimePs time = now_ > pair.since ? now_ - pair.since : 0;
    const Work served = pair.served + work_done(pair.rate, time);
    Work work = pair.begun;
    for (std::uint32_t m = pair.first; m != kNone; m = open_[m].next) {
        work -= open_[m].work > served ? open_[m].work - served : 0;
    }
    return work;
}

std::vector<Partial> FlowModel::partial(TimePs at) const {
    std::vector<Partial> found;
    const std::uint32_t packet = config_.wire.mtu + std::uint32_t{config_.wire.header_bytes};
    for (const Pair& pair : pairs_) {
        const TimePs time = at > pair.since ? at - pair.since : 0;
        const Work served = pair.served + work_done(pair.rate, time);
        for (std::uint32_t m = pair.weight == 0 ? kNone : pair.first; m != kNone;
             m = open_[m].next) {
            const std::uint64_t wire =
                open_[m].work > served ? (open_[m].work - served) / work_of(1) : 0;
            found.push_back(
                {open_[m].tag, wire / packet * config_.wire.mtu +
                                   std::min<std::uint64_t>(wire % packet, config_.wire.mtu)});
        }
    }
    return found;
}

std::vector<LinkLoad> FlowModel::link_loads() const {
    std::vector<Work> carried_by = forgotten_;
    for (std::uint32_t id = 0; id < pairs_.size(); ++id) {
        const Work work = carried(pairs_[id]);
        rates_.for_each_hop(id, [&](std::uint32_t link, std::uint32_t share) {
            carried_by[link] += part_of(work, share);
        });
    }
    std::vector<LinkLoad> loads(carried_by.size());
    for (std::uint32_t link = 0; link < loads.size(); ++link) {
        loads[link] = {.bytes = carried_by[link] / kWorkPerByte,
                       .full_ps = rates_.full_ps(link, now_)};
    }
    return loads;
}

}  // namespace softib::net::flow
