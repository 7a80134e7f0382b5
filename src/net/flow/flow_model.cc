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

}  // namespace

FlowModel::FlowModel(const FlowNetwork& network, const FlowConfig& config)
    : network_(network),
      config_(config),
      rates_(capacities_of(network)),
      calendar_(config.stretch_ps),
      last_pair_(network.end_count(), kNone),
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
    const std::uint32_t index = take_open();
    open_[index] = {.work = work_of(config_.wire.bytes_of(message.bytes)),
                    .start = message.start,
                    .tag = message.tag,
                    .pair = pair};
    calendar_.push(message.start, index | kBegins);
    ++unfinished_;
    return true;
}

std::span<const Completion> FlowModel::step() {
    completions_.clear();
    if (idle()) {
        return completions_;
    }
    const Calendar::Taken taken = calendar_.pop(events_);
    now_ = std::max(now_, taken.first);
    ++steps_;
    for (const std::uint32_t event : events_) {
        if ((event & kBegins) != 0) {
            begin(event & ~kBegins);
        } else if (pairs_[event].due != kNever &&
                   calendar_.stretch_of(pairs_[event].due) == taken.stretch) {
            end(event);  // Else its rate has changed since.
        }
    }
    for (const std::uint32_t id : rates_.solve()) {
        serve(pairs_[id], now_);
        pairs_[id].rate = rates_.rate(id);
        schedule(id);
    }
    return completions_;
}

// Pairs.

/// kNone: there is no way.
std::uint32_t FlowModel::find_pair(std::uint32_t from, std::uint32_t to) {
    const std::uint32_t last = last_pair_[from];
    if (last != kNone && pairs_[last].to == to) {
        return last;
    }
    const auto found = pair_of_.find(key(from, to));
    const std::uint32_t pair = found != pair_of_.end() ? found->second : add_pair(from, to);
    last_pair_[from] = pair;
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
    }
    pairs_[id] = {.from = from, .to = to, .latency = *latency};
    pair_of_.emplace(key(from, to), id);
    return id;
}

/// Makes room where many pairs have no messages: those that have been so for longest go.
void FlowModel::forget_idle() {
    while (idle_.size() > kIdleMax) {
        const std::uint32_t id = idle_.front();
        if (rates_.changed(id)) {
            return;
        }
        idle_.pop_front();
        Pair& pair = pairs_[id];
        pair.listed = false;
        if (pair.open != 0) {
            continue;
        }
        rates_.for_each_hop(id, [&](std::uint32_t link, std::uint32_t share) {
            forgotten_[link] += static_cast<Work>(Wide{pair.carried} * share / kWhole);
        });
        pair.carried = 0;
        rates_.remove(id);
        pair_of_.erase(key(pair.from, pair.to));
        if (last_pair_[pair.from] == id) {
            last_pair_[pair.from] = kNone;
        }
        return;
    }
}

// Messages.

std::uint32_t FlowModel::take_open() {
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
    if (open.pair == kNone) {
        complete(message, open.start, 0);
        return;
    }
    Pair& pair = pairs_[open.pair];
    serve(pair, open.start);
    open.target = pair.served + open.work;
    line_up(pair, message);
    rates_.set_weight(open.pair, ++pair.weight);
}

/// By target; most messages come in that order.
void FlowModel::line_up(Pair& pair, std::uint32_t message) {
    const Work target = open_[message].target;
    open_[message].next = kNone;
    if (pair.first == kNone) {
        pair.first = pair.last = message;
    } else if (open_[pair.last].target <= target) {
        open_[pair.last].next = message;
        pair.last = message;
    } else if (target < open_[pair.first].target) {
        open_[message].next = pair.first;
        pair.first = message;
    } else {
        std::uint32_t before = pair.first;
        while (open_[open_[before].next].target <= target) {
            before = open_[before].next;
        }
        open_[message].next = open_[before].next;
        open_[before].next = message;
    }
}

/// Ends the first message of a pair, and all that end with it.
void FlowModel::end(std::uint32_t id) {
    Pair& pair = pairs_[id];
    const TimePs sent = std::exchange(pair.due, kNever);
    serve(pair, sent);
    while (pair.first != kNone && open_[pair.first].target <= pair.served) {
        const std::uint32_t message = pair.first;
        pair.first = open_[message].next;
        pair.carried += open_[message].work;
        --pair.weight;
        --pair.open;
        complete(message, sent, pair.latency);
    }
    rates_.set_weight(id, pair.weight);
    if (pair.weight == 0) {
        pair.rate = 0;
    }
    if (pair.open == 0 && !pair.listed) {
        pair.listed = true;
        idle_.push_back(id);
    }
}

void FlowModel::complete(std::uint32_t message, TimePs sent, TimePs latency) {
    const Open& open = open_[message];
    completions_.push_back(
        {.tag = open.tag, .start = open.start, .sent = sent, .delivered = sent + latency});
    free_open_.push_back(message);
    --unfinished_;
    ++ended_;
}

/// A pair may be ahead of now() within a stretch.
void FlowModel::serve(Pair& pair, TimePs until) {
    if (until > pair.since) {
        pair.served += work_done(pair.rate, until - pair.since);
        pair.since = until;
    }
}

void FlowModel::schedule(std::uint32_t id) {
    Pair& pair = pairs_[id];
    SOFTIB_CHECK(pair.first != kNone && pair.rate != 0);
    const Work target = open_[pair.first].target;
    const TimePs due =
        pair.since + (target > pair.served ? time_for(target - pair.served, pair.rate) : 0);
    if (due != pair.due) {
        pair.due = due;
        calendar_.push(due, id);
    }
}

std::vector<std::uint64_t> FlowModel::link_bytes() const {
    std::vector<Work> carried = forgotten_;
    for (std::uint32_t id = 0; id < pairs_.size(); ++id) {
        const Pair& pair = pairs_[id];
        Work work = pair.carried;
        if (pair.weight != 0) {
            const TimePs time = now_ > pair.since ? now_ - pair.since : 0;
            const Work served = pair.served + work_done(pair.rate, time);
            for (std::uint32_t m = pair.first; m != kNone; m = open_[m].next) {
                const Work left = open_[m].target > served ? open_[m].target - served : 0;
                work += open_[m].work - left;
            }
        }
        rates_.for_each_hop(id, [&](std::uint32_t link, std::uint32_t share) {
            carried[link] += static_cast<Work>(Wide{work} * share / kWhole);
        });
    }
    for (Work& work : carried) {
        work /= kWorkPerByte;
    }
    return carried;
}

}  // namespace softib::net::flow
