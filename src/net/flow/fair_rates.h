// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Max-min fair rates: no flow's rate can grow without taking from a flow that has no more. The
// weight of a flow is the number of messages that share its way, and its rate is that of one unit
// of weight.
//
// The definition, which also decides ties and rounding: every link has a level, which is what each
// unit of weight would get, rounded down, if all flows that are not yet settled shared what is left
// of the link. The link with the lowest (level, number) settles its flows at its level. Then the
// levels of the other links are computed again, and so on (progressive filling). A flow is *bound*
// by the link that settled it.
//
// After a change, solve() settles anew only flows whose rates may change. It begins with the flows
// that have changed and those bound by links of these, solves for them with all other flows fixed,
// and looks at the links on their ways. If such a link gives a solved flow less than another flow
// has of it, or has another level than other flows that it binds, these other flows join, and it
// solves again. In the end every flow is bound by a full link on which no flow has more. There is
// only one such set of rates: that of solving from scratch. Where links have the same level,
// rounding can differ: by as many units of a rate (1/256 byte a second) as flows share a link.
//
// A link that only one flow has on its way takes no part: it is a limit of that flow. So rings and
// permutations cost next to nothing.

#include <cstdint>
#include <span>
#include <vector>

#include "net/flow/flow_network.h"
#include "net/flow/units.h"

namespace softib::net::flow {

class FairRates {
  public:
    using FlowId = std::uint32_t;

    /// `capacities`: the capacity of each link, by number.
    explicit FairRates(std::vector<Rate> capacities);

    /// Adds a flow without weight. `way` has at least one link, and each link at most once.
    FlowId add(std::span<const Hop> way);
    /// Removes a flow, which must have no weight and must not have changed since the last solve().
    void remove(FlowId flow);
    /// Returns the flows that were alone() until the last add() gave them company.
    std::span<const FlowId> no_longer_alone() const { return no_longer_alone_; }
    /// Returns whether a flow shares none of the links on its way. The rate of such a flow is
    /// lone_rate(), and a caller that computes it so need not set the flow's weight until the flow
    /// is no longer alone.
    bool alone(FlowId flow) const { return flows_[flow].shared == 0; }
    Rate lone_rate(FlowId flow, std::uint32_t weight) const { return flows_[flow].limit / weight; }
    /// Sets the weight of a flow. Returns true if the flow is alone: it has its rate at once. For
    /// other flows the weight counts from the next solve() on.
    bool set_weight(FlowId flow, std::uint32_t weight);
    /// Computes the rates. Returns the flows with weight whose rate or weight has changed since the
    /// last call, without those for which set_weight() returned true.
    std::span<const FlowId> solve(TimePs now);

    Rate rate(FlowId flow) const { return flows_[flow].rate; }
    /// Returns the link that settled a flow.
    std::uint32_t bound_by(FlowId flow) const { return flows_[flow].bound; }
    /// Returns whether a flow has changed since the last solve().
    bool changed(FlowId flow) const { return flows_[flow].touched; }
    /// Calls visit(link, share) for every link on a flow's way.
    void for_each_hop(FlowId flow, auto visit) const {
        const Flow& record = flows_[flow];
        for (const Entry& entry : std::span(entries_).subspan(record.first, record.count)) {
            visit(entry.link, entry.share);
        }
    }
    /// Returns how long, until `now`, a link has bound flows that share it.
    TimePs full_ps(std::uint32_t link, TimePs now) const {
        const Link& record = links_[link];
        return record.full_ps + (record.full_since < now ? now - record.full_since : 0);
    }
    /// Returns how many flows were solved for since the beginning: a measure of the work done.
    std::uint64_t settled() const { return settled_; }

  private:
    /// A link on a flow's way.
    struct Entry {
        std::uint32_t link;
        std::uint32_t share;
        std::uint32_t place;  ///< The flow's place among the link's members, if it is one.
    };
    /// A flow. The first `shared` of its `count` entries are the links that it shares.
    struct alignas(64) Flow {
        Rate rate = 0;
        Rate limit = 0;  ///< Rate for weight 1 that its unshared links allow.
        /// The link that sets `limit`; kNone: it shares all links.
        std::uint32_t limit_link = kNone;
        std::uint32_t bound = kNone;
        std::uint32_t first = 0;
        std::uint32_t count = 0;
        std::uint32_t shared = 0;
        std::uint32_t weight = 0;
        std::uint32_t active_place = 0;
        std::uint32_t chosen = kNone;  ///< Place in chosen_, while solving.
        bool touched = false;
    };
    /// A flow with weight on a shared link.
    struct Member {
        FlowId flow;
        std::uint32_t entry;
    };
    struct Link {
        std::uint64_t capacity = 0;   ///< Capacity times kWhole, as all that is compared with it.
        std::uint64_t used = 0;       ///< What its members use.
        std::uint64_t weight = 0;     ///< Sum of its members' weights times their shares.
        TimePs full_since = kNever;   ///< Since when it binds flows; kNever: it binds none.
        TimePs full_ps = 0;           ///< Time for which it bound flows before.
        Rate level = 0;               ///< Rate of the flows that it binds.
        std::uint32_t bound = 0;      ///< Members that it binds.
        std::uint32_t users = 0;      ///< Flows that have it on their way, with weight or without.
        std::uint32_t owner = kNone;  ///< Its only user, if it has had no other since it had none.
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
    /// A link on the way of a flow that is being solved for.
    struct Local {
        std::uint32_t link;
        std::uint32_t first;  ///< Where its flows begin in local_members_.
        std::uint32_t count;
        std::uint32_t bound_before;  ///< Chosen flows that it bound before this solve().
        std::uint64_t left;          ///< What is left of its capacity.
        std::uint64_t weight;  ///< Sum of weights times shares of chosen flows not yet settled.
        Rate level;            ///< Level at which it settled flows; kNotSettled: it did not.
    };
    /// A link, or a flow's own limit, that may settle flows next.
    struct Candidate {
        Rate level;
        std::uint32_t link;
        std::uint32_t what;  ///< A place in locals_, or kOwnLimit plus a place in chosen_.
    };
    static constexpr std::uint32_t kOwnLimit = 1U << 31;
    static constexpr Rate kNotSettled = UINT64_MAX;

    struct Later {
        bool operator()(const Candidate& a, const Candidate& b) const {
            return a.level != b.level ? a.level > b.level : a.link > b.link;
        }
    };
    /// Returns whether (rate, bound) is above (level, link).
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
    /// By count: free places for that many entries.
    std::vector<std::vector<std::uint32_t>> free_entries_;
    std::vector<Link> links_;
    std::vector<FlowId> active_;  ///< Flows that have weight and share a link.
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
