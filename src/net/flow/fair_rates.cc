// SPDX-License-Identifier: BSD-2-Clause
// Flows and the links on their ways; fair_rates_solve.cc has the solver.
#include "net/flow/fair_rates.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace softib::net::flow {

FairRates::FairRates(std::vector<Rate> capacities) : links_(capacities.size()) {
    for (std::size_t i = 0; i < capacities.size(); ++i) {
        SOFTIB_CHECK(capacities[i] < (std::uint64_t{1} << 63) / kWhole);
        links_[i].capacity = capacities[i] * kWhole;
    }
}

/// Returns where there is room for `count` entries in a row.
std::uint32_t FairRates::take_entries(std::uint32_t count) {
    if (count < free_entries_.size() && !free_entries_[count].empty()) {
        const std::uint32_t first = free_entries_[count].back();
        free_entries_[count].pop_back();
        return first;
    }
    const auto first = static_cast<std::uint32_t>(entries_.size());
    entries_.resize(entries_.size() + count);
    return first;
}

FairRates::FlowId FairRates::add(std::span<const Hop> way) {
    SOFTIB_CHECK(!way.empty());
    FlowId id = static_cast<FlowId>(flows_.size());
    if (free_flows_.empty()) {
        flows_.emplace_back();
    } else {
        id = free_flows_.back();
        free_flows_.pop_back();
        flows_[id] = {};
    }
    const auto count = static_cast<std::uint32_t>(way.size());
    no_longer_alone_.clear();
    flows_[id].first = take_entries(count);
    flows_[id].count = count;
    // Shared links are entered from the front, links of the flow's own from the back.
    std::uint32_t shared = 0;
    std::uint32_t own = count;
    for (const Hop& hop : way) {
        Link& link = links_[hop.link];
        SOFTIB_CHECK(link.capacity != 0 && hop.share != 0 && hop.share <= kWhole);
        if (link.users != 0 && link.owner != kNone) {
            share_link(hop.link);
        }
        const bool alone = link.users++ == 0;
        link.owner = alone ? id : kNone;
        entries_[flows_[id].first + (alone ? --own : shared++)] = {
            .link = hop.link, .share = hop.share, .place = 0};
    }
    flows_[id].shared = shared;
    find_limit(flows_[id]);
    return id;
}

/// Makes a link shared that only its owner has used until now.
void FairRates::share_link(std::uint32_t link) {
    const FlowId id = links_[link].owner;
    links_[link].owner = kNone;
    Flow& flow = flows_[id];
    const auto own = std::span(entries_).subspan(flow.first, flow.count).subspan(flow.shared);
    const auto entry = std::ranges::find(own, link, &Entry::link);
    SOFTIB_CHECK(entry != own.end());
    std::swap(*entry, own.front());
    if (flow.shared++ == 0) {
        no_longer_alone_.push_back(id);
    }
    find_limit(flow);
    if (flow.weight != 0) {
        if (flow.shared == 1) {
            list(id);
        }
        join(id, flow.first + flow.shared - 1);
        if (flow.bound == link) {
            ++links_[link].bound;
            links_[link].level = flow.rate;
        }
        touch(id);
    }
}

void FairRates::find_limit(Flow& flow) {
    flow.limit_link = kNone;
    for (const Entry& entry :
         std::span(entries_).subspan(flow.first, flow.count).subspan(flow.shared)) {
        const Rate limit = links_[entry.link].capacity / entry.share;
        if (flow.limit_link == kNone || !above(limit, entry.link, flow.limit, flow.limit_link)) {
            flow.limit = limit;
            flow.limit_link = entry.link;
        }
    }
}

void FairRates::remove(FlowId id) {
    Flow& flow = flows_[id];
    SOFTIB_CHECK(flow.weight == 0 && !flow.touched);
    for (const Entry& entry : std::span(entries_).subspan(flow.first, flow.count)) {
        Link& link = links_[entry.link];
        if (--link.users == 0) {
            link.owner = kNone;
        }
    }
    if (free_entries_.size() <= flow.count) {
        free_entries_.resize(flow.count + 1);
    }
    free_entries_[flow.count].push_back(flow.first);
    flow.count = flow.shared = 0;
    free_flows_.push_back(id);
}

void FairRates::touch(FlowId id) {
    if (!flows_[id].touched) {
        flows_[id].touched = true;
        touched_.push_back(id);
    }
}

bool FairRates::set_weight(FlowId id, std::uint32_t weight) {
    Flow& flow = flows_[id];
    if (flow.shared == 0) {
        flow.weight = weight;
        flow.bound = weight != 0 ? flow.limit_link : kNone;
        flow.rate = weight != 0 ? lone_rate(id, weight) : 0;
        return true;
    }
    if (flow.weight == weight) {
        return false;
    }
    touch(id);
    if (flow.weight == 0) {
        flow.weight = weight;
        begin(id);
    } else if (weight == 0) {
        end(id);
        flow.weight = 0;
    } else {
        const std::uint32_t before = std::exchange(flow.weight, weight);
        for (const Entry& entry : shared_entries(flow)) {
            Link& link = links_[entry.link];
            link.used += (std::uint64_t{weight} - before) * entry.share * flow.rate;
        }
    }
    return false;
}

void FairRates::list(FlowId id) {
    flows_[id].active_place = static_cast<std::uint32_t>(active_.size());
    active_.push_back(id);
}

void FairRates::begin(FlowId id) {
    const Flow& flow = flows_[id];
    list(id);
    for (std::uint32_t i = 0; i < flow.shared; ++i) {
        join(id, flow.first + i);
    }
}

void FairRates::end(FlowId id) {
    Flow& flow = flows_[id];
    for (const Entry& entry : shared_entries(flow)) {
        Link& link = links_[entry.link];
        link.used -= std::uint64_t{flow.weight} * entry.share * flow.rate;
        link.bound -= flow.bound == entry.link ? 1 : 0;
        leave(entry);
    }
    flow.rate = 0;
    flow.bound = kNone;
    flows_[active_.back()].active_place = flow.active_place;
    active_[flow.active_place] = active_.back();
    active_.pop_back();
}

void FairRates::join(FlowId id, std::uint32_t entry) {
    const Flow& flow = flows_[id];
    Link& link = links_[entries_[entry].link];
    link.used += std::uint64_t{flow.weight} * entries_[entry].share * flow.rate;
    entries_[entry].place = static_cast<std::uint32_t>(link.members.size());
    link.members.push_back({.flow = id, .entry = entry});
}

void FairRates::leave(const Entry& entry) {
    std::vector<Member>& members = links_[entry.link].members;
    entries_[members.back().entry].place = entry.place;
    members[entry.place] = members.back();
    members.pop_back();
}

}  // namespace softib::net::flow
