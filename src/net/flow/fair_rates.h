// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Max-min fair rates: nobody's rate can grow without taking from somebody who has no more. Flows
// have weights (so many messages share a way) and a rate is that of one unit of weight.
//
// The definition, which also decides ties and rounding: every link has a level, what each unit of
// weight would get of what is left of the link if all that are not yet settled shared it, rounded
// down. The link with the lowest (level, number) settles its flows at its level, and so on: by
// progressive filling. A flow is *bound* by the link that settled it.
//
// After a change `solve` settles anew only flows whose rates may change. It begins with those that
// have changed and those bound by their links, solves for these with all others fixed, and looks at
// the links on their ways: where a link gives somebody less than a flow outside has of it, or has
// another level than the flows outside that it binds, those join, and it solves again. In the end
// every flow is bound by a full link on which nobody has more, and there is one such set of rates
// only: that of solving from scratch. Where links have the same level, rounding can differ: by as
// many units of a rate (1/256 byte a second) as flows share a link.
//
// A link that one flow alone has on its way takes no part: it is a limit of that flow. Rings and
// permutations then cost next to nothing.

#include <cstdint>
#include <span>
#include <vector>

#include "net/flow/flow_network.h"
#include "net/flow/units.h"

namespace softib::net::flow {

class FairRates {
  public:
    using FlowId = std::uint32_t;

    /// Of all links, by number.
    explicit FairRates(std::vector<Rate> capacities);

    /// A flow without weight. Each link is at most once on its way; there is at least one.
    FlowId add(std::span<const Hop> way);
    /// A flow without weight that has not changed since the last solve().
    void remove(FlowId flow);
    /// Other flows that had all links of their ways for themselves until the last add().
    std::span<const FlowId> no_longer_alone() const { return no_longer_alone_; }
    /// Whether it has. The rate of such a flow is lone_rate(), and who remembers that need not set
    /// its weight until it is no longer alone.
    bool alone(FlowId flow) const { return flows_[flow].shared == 0; }
    Rate lone_rate(FlowId flow, std::uint32_t weight) const { return flows_[flow].limit / weight; }
    /// True: the flow is alone, and has its rate at once. Else it counts from the next solve() on.
    bool set_weight(FlowId flow, std::uint32_t weight);
    /// Returns the other flows with weight whose rate or weight has changed since the last time.
    std::span<const FlowId> solve(TimePs now);

    Rate rate(FlowId flow) const { return flows_[flow].rate; }
    /// The link that settled it.
    std::uint32_t bound_by(FlowId flow) const { return flows_[flow].bound; }
    bool changed(FlowId flow) const { return flows_[flow].touched; }
    /// Calls visit(link, share) for every link on its way.
    void for_each_hop(FlowId flow, auto visit) const {
        const Flow& record = flows_[flow];
        for (const Entry& entry : std::span(entries_).subspan(record.first, record.count)) {
            visit(entry.link, entry.share);
        }
    }
    /// How long a link has bound flows that share it, until now.
    TimePs full_ps(std::uint32_t link, TimePs now) const {
        const Link& record = links_[link];
        return record.full_ps + (record.full_since < now ? now - record.full_since : 0);
    }
    /// Flows that were solved for, all in all: the work that was done.
    std::uint64_t settled() const { return settled_; }

  private:
    struct Entry {
        std::uint32_t link;
        std::uint32_t share;
        std::uint32_t place;  ///< Among the link's members, while it has weight and is shared.
    };
    /// First on its way stand the links that it shares.
    struct alignas(64) Flow {
        Rate rate = 0;
        Rate limit = 0;                    ///< By the links that only it has; for weight 1.
        std::uint32_t limit_link = kNone;  ///< kNone: there are none.
        std::uint32_t bound = kNone;
        std::uint32_t first = 0;
        std::uint32_t count = 0;
        std::uint32_t shared = 0;
        std::uint32_t weight = 0;
        std::uint32_t active_place = 0;
        std::uint32_t chosen = kNone;  ///< Place in chosen_, while solving.
        bool touched = false;
    };
    struct Member {
        FlowId flow;
        std::uint32_t entry;
    };
    struct Link {
        std::uint64_t capacity = 0;   ///< Times kWhole, as is all that is compared with it.
        std::uint64_t used = 0;       ///< By members.
        std::uint64_t weight = 0;     ///< Of members, times their shares.
        TimePs full_since = kNever;   ///< It binds flows; kNever: it does not.
        TimePs full_ps = 0;           ///< How long it did before.
        Rate level = 0;               ///< Of the flows that it binds.
        std::uint32_t bound = 0;      ///< Members that it binds.
        std::uint32_t users = 0;      ///< Flows that have it on their way, with weight or without.
        std::uint32_t owner = kNone;  ///< The one user, if it has never had two since it had none.
        std::uint32_t local = kNone;  ///< Place in locals_, while solving.
        std::vector<Member> members;  ///< Flows with weight, if it is shared.
    };
    /// A flow that is being solved for.
    struct Chosen {
        FlowId flow;
        std::uint32_t bound;
        Rate rate;
        bool settled;
    };
    /// A link on the way of one.
    struct Local {
        std::uint32_t link;
        std::uint32_t first;  ///< Into local_members_.
        std::uint32_t count;
        std::uint32_t bound_before;  ///< Chosen ones that it has bound until now.
        std::uint64_t left;          ///< Of its capacity.
        std::uint64_t weight;        ///< Of chosen ones that are not settled, times their shares.
        Rate level;                  ///< At which it settled; kNotSettled: it did not.
    };
    struct Candidate {
        Rate level;
        std::uint32_t link;
        std::uint32_t what;  ///< A place in locals_, or kOwnLimit and one in chosen_.
    };
    static constexpr std::uint32_t kOwnLimit = 1U << 31;
    static constexpr Rate kNotSettled = UINT64_MAX;

    struct Later {
        bool operator()(const Candidate& a, const Candidate& b) const {
            return a.level != b.level ? a.level > b.level : a.link > b.link;
        }
    };
    static bool above(Rate rate, std::uint32_t bound, Rate level, std::uint32_t link) {
        return rate != level ? rate > level : bound > link;
    }
    std::span<Entry> shared_entries(const Flow& flow) {
        return std::span(entries_).subspan(flow.first, flow.shared);
    }

    std::uint32_t take_entries(std::uint32_t count);
    void share_link(std::uint32_t link);
    void find_limit(Flow& flow);
    void touch(FlowId flow);
    void join(FlowId flow, std::uint32_t entry);
    void leave(const Entry& entry);
    void list(FlowId flow);
    void begin(FlowId flow);
    void end(FlowId flow);

    void choose(FlowId flow);
    void choose_bound(std::uint32_t link);
    void choose_touched();
    void choose_all();
    void gather();
    void push(Candidate candidate);
    void fill();
    void settle(Chosen& chosen, Rate level, std::uint32_t link);
    bool widen();
    bool fits_outside(const Local& local) const;
    void choose_above(const Local& local);
    void commit();
    void note_full(TimePs now);
    static void note_full(Link& link, TimePs now);

    std::vector<Flow> flows_;
    std::vector<FlowId> free_flows_;
    std::vector<Entry> entries_;
    std::vector<std::vector<std::uint32_t>> free_entries_;  ///< By count: where there is room.
    std::vector<Link> links_;
    std::vector<FlowId> active_;  ///< With weight and a link that they share.
    std::vector<FlowId> touched_;
    std::vector<FlowId> no_longer_alone_;
    std::vector<FlowId> changed_;
    std::uint64_t settled_ = 0;
    // While solving.
    std::vector<Chosen> chosen_;
    std::vector<Local> locals_;
    std::vector<std::uint32_t> local_members_;  ///< Places in chosen_, by local link.
    std::vector<Candidate> candidates_;         ///< A heap.
};

}  // namespace softib::net::flow
