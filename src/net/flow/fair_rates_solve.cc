// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "net/flow/fair_rates.h"

namespace softib::net::flow {

namespace {

/// Rounds of widening after which all flows are solved for: a change that reaches this far probably
/// reaches most of them.
constexpr std::uint32_t kRoundsMax = 20;

}  // namespace

std::span<const FairRates::FlowId> FairRates::solve(TimePs now) {
    changed_.clear();
    choose_touched();
    for (std::uint32_t round = 0; !chosen_.empty(); ++round) {
        if (round == kRoundsMax || chosen_.size() * 2 > active_.size()) {
            choose_all();
        }
        gather();
        fill();
        if (chosen_.size() == active_.size() || !widen()) {
            break;
        }
    }
    commit();
    note_full(now);
    touched_.clear();
    chosen_.clear();
    locals_.clear();
    return changed_;
}

// The choice of flows to solve for.

void FairRates::choose(FlowId id) {
    Flow& flow = flows_[id];
    if (flow.chosen == kNone) {
        flow.chosen = static_cast<std::uint32_t>(chosen_.size());
        chosen_.push_back({.flow = id, .bound = kNone, .rate = 0, .settled = false});
    }
}

void FairRates::choose_bound(std::uint32_t link) {
    if (links_[link].bound == 0) {
        return;
    }
    for (const Member& member : links_[link].members) {
        if (flows_[member.flow].bound == link) {
            choose(member.flow);
        }
    }
}

void FairRates::choose_touched() {
    for (const FlowId id : touched_) {
        if (flows_[id].weight != 0) {
            choose(id);
        }
    }
    for (const FlowId id : touched_) {
        if (chosen_.size() * 2 > active_.size()) {
            return;  // solve() will choose all flows.
        }
        for (const Entry& entry : shared_entries(flows_[id])) {
            choose_bound(entry.link);
        }
    }
}

void FairRates::choose_all() {
    for (const FlowId id : active_) {
        choose(id);
    }
}

// Progressive filling.

/// Lists the links of chosen flows in locals_, each with those flows and with what all other flows
/// leave of it.
void FairRates::gather() {
    for (const Local& local : locals_) {
        links_[local.link].local = kNone;
    }
    locals_.clear();
    for (Chosen& chosen : chosen_) {
        chosen.settled = false;
        const Flow& flow = flows_[chosen.flow];
        for (const Entry& entry : shared_entries(flow)) {
            Link& link = links_[entry.link];
            if (link.local == kNone) {
                link.local = static_cast<std::uint32_t>(locals_.size());
                locals_.push_back({.link = entry.link,
                                   .first = 0,
                                   .count = 0,
                                   .bound_before = 0,
                                   .left = link.capacity - link.used,
                                   .weight = 0,
                                   .level = kNotSettled});
            }
            Local& local = locals_[link.local];
            const std::uint64_t weight = std::uint64_t{flow.weight} * entry.share;
            ++local.count;
            local.left += weight * flow.rate;
            local.weight += weight;
            local.bound_before += flow.bound == entry.link ? 1 : 0;
        }
    }
    std::uint32_t first = 0;
    for (Local& local : locals_) {
        local.first = first;
        first += local.count;
        local.count = 0;
    }
    local_members_.resize(first);
    for (std::uint32_t i = 0; i < chosen_.size(); ++i) {
        for (const Entry& entry : shared_entries(flows_[chosen_[i].flow])) {
            Local& local = locals_[links_[entry.link].local];
            local_members_[local.first + local.count++] = i;
        }
    }
}

void FairRates::push(Candidate candidate) {
    candidates_.push_back(candidate);
    std::ranges::push_heap(candidates_, Later{});
}

void FairRates::fill() {
    candidates_.clear();
    for (std::uint32_t i = 0; i < locals_.size(); ++i) {
        const Local& local = locals_[i];
        candidates_.push_back({local.left / local.weight, local.link, i});
    }
    for (std::uint32_t i = 0; i < chosen_.size(); ++i) {
        const Flow& flow = flows_[chosen_[i].flow];
        if (flow.limit_link != kNone) {
            candidates_.push_back({flow.limit / flow.weight, flow.limit_link, i | kOwnLimit});
        }
    }
    settled_ += chosen_.size();
    std::ranges::make_heap(candidates_, Later{});
    while (!candidates_.empty()) {
        std::ranges::pop_heap(candidates_, Later{});
        const Candidate next = candidates_.back();
        candidates_.pop_back();
        if ((next.what & kOwnLimit) != 0) {
            Chosen& chosen = chosen_[next.what & ~kOwnLimit];
            if (!chosen.settled) {
                settle(chosen, next.level, next.link);
            }
            continue;
        }
        Local& local = locals_[next.what];
        if (local.weight == 0) {
            continue;
        }
        // Since this link became a candidate, others may have settled flows of it below its level.
        if (const Rate level = local.left / local.weight; level != next.level) {
            push({level, next.link, next.what});
            continue;
        }
        local.level = next.level;
        for (std::uint32_t i = 0; i < local.count; ++i) {
            Chosen& chosen = chosen_[local_members_[local.first + i]];
            if (!chosen.settled) {
                settle(chosen, next.level, next.link);
            }
        }
    }
}

void FairRates::settle(Chosen& chosen, Rate level, std::uint32_t link) {
    chosen.settled = true;
    chosen.rate = level;
    chosen.bound = link;
    const Flow& flow = flows_[chosen.flow];
    for (const Entry& entry : shared_entries(flow)) {
        Local& local = locals_[links_[entry.link].local];
        const std::uint64_t weight = std::uint64_t{flow.weight} * entry.share;
        local.left -= weight * level;
        local.weight -= weight;
    }
}

// Widening: the choice of further flows.

/// Chooses flows whose rates do not fit those just found. Returns false if there are none.
bool FairRates::widen() {
    const std::size_t before = chosen_.size();
    for (const Local& local : locals_) {
        const Link& link = links_[local.link];
        if (link.members.size() == local.count) {
            continue;
        }
        if (link.bound > local.bound_before && !fits_outside(local)) {
            choose_bound(local.link);
        }
        if (local.level != kNotSettled) {
            choose_above(local);
        }
    }
    return chosen_.size() != before;
}

/// Returns whether flows that a link binds and that are not chosen can keep their rates: the link
/// has as much for them as before, and no chosen flow has more of it.
bool FairRates::fits_outside(const Local& local) const {
    const Link& link = links_[local.link];
    if (link.capacity - local.left != link.used) {
        return false;
    }
    for (std::uint32_t i = 0; i < local.count; ++i) {
        const Chosen& chosen = chosen_[local_members_[local.first + i]];
        if (above(chosen.rate, chosen.bound, link.level, local.link)) {
            return false;
        }
    }
    return true;
}

/// Chooses flows that have more of a link than the link gives to the flows that it has settled.
void FairRates::choose_above(const Local& local) {
    for (const Member& member : links_[local.link].members) {
        const Flow& flow = flows_[member.flow];
        if (flow.chosen == kNone && above(flow.rate, flow.bound, local.level, local.link)) {
            choose(member.flow);
        }
    }
}

void FairRates::commit() {
    for (const Local& local : locals_) {
        Link& link = links_[local.link];
        link.used = link.capacity - local.left;
        link.bound -= local.bound_before;
        link.level = local.level != kNotSettled ? local.level : link.level;
        link.local = kNone;
    }
    for (const Chosen& chosen : chosen_) {
        Flow& flow = flows_[chosen.flow];
        flow.chosen = kNone;
        if (flow.touched || flow.rate != chosen.rate) {
            changed_.push_back(chosen.flow);
        }
        flow.rate = chosen.rate;
        flow.bound = chosen.bound;
        if (chosen.bound != flow.limit_link) {
            ++links_[chosen.bound].bound;
        }
    }
    for (const FlowId id : touched_) {
        flows_[id].touched = false;
    }
}

/// Notes since when links bind flows. Only links of chosen or changed flows can have begun or
/// ceased to.
void FairRates::note_full(TimePs now) {
    for (const Local& local : locals_) {
        note_full(links_[local.link], now);
    }
    for (const FlowId id : touched_) {
        for (const Entry& entry : shared_entries(flows_[id])) {
            note_full(links_[entry.link], now);
        }
    }
}

void FairRates::note_full(Link& link, TimePs now) {
    if (link.bound != 0 && link.full_since == kNever) {
        link.full_since = now;
    } else if (link.bound == 0 && link.full_since != kNever) {
        link.full_ps += now - link.full_since;
        link.full_since = kNever;
    }
}

}  // namespace softib::net::flow
