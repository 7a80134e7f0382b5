// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/group_work.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace softib::plan::trace {

namespace {

/// The NVLink domains of a group, in the order of their first members.
struct GroupShape {
    std::vector<std::uint32_t> ends = {};  ///< End ports of their NICs, domain by domain.
    std::uint32_t nics = 1;                ///< NICs that every domain has.
    std::uint32_t domains = 0;
    std::uint32_t gpus = 1;  ///< Members of the largest domain.
    bool even = true;        ///< Whether all domains have the same number of members.
};

GroupShape shape_of(const Places& places, std::span<const std::uint32_t> gpus) {
    struct Domain {
        std::uint32_t number = 0;
        std::uint32_t members = 0;
        std::vector<std::uint32_t> ends = {};
    };
    std::vector<Domain> domains;
    std::map<std::uint32_t, std::size_t> known;
    for (const std::uint32_t gpu : gpus) {
        const std::uint32_t number = places.domain_of(gpu);
        const auto [at, added] = known.try_emplace(number, domains.size());
        if (added) {
            domains.push_back({.number = number});
        }
        Domain& domain = domains[at->second];
        ++domain.members;
        const std::uint32_t end = places.end_of(gpu);
        if (std::ranges::find(domain.ends, end) == domain.ends.end()) {
            domain.ends.push_back(end);
        }
    }
    GroupShape shape;
    shape.domains = static_cast<std::uint32_t>(domains.size());
    std::size_t nics = SIZE_MAX;
    for (const Domain& domain : domains) {
        nics = std::min(nics, domain.ends.size());
        shape.gpus = std::max(shape.gpus, domain.members);
        shape.even = shape.even && domain.members == domains.front().members;
    }
    shape.nics = static_cast<std::uint32_t>(nics);
    for (const Domain& domain : domains) {
        shape.ends.insert(shape.ends.end(), domain.ends.begin(),
                          domain.ends.begin() + static_cast<std::ptrdiff_t>(nics));
    }
    return shape;
}

NcclParts parts_of(const Places& places, std::span<const std::uint32_t> gpus) {
    GroupShape shape = shape_of(places, gpus);
    nccl::Communicator comm =
        nccl::communicator_of(places.cluster(), shape.domains, shape.gpus, shape.nics);
    comm.ranks = static_cast<std::uint32_t>(gpus.size());
    return {places.cluster(), Layout(std::move(shape.ends), shape.nics, shape.gpus), comm};
}

}  // namespace

GroupOperation group_operation(const Job& job, std::span<const std::uint32_t> members,
                               std::span<const std::uint32_t> operations) {
    GroupOperation all;
    bool split = false;
    for (std::size_t m = 0; m < members.size(); ++m) {
        const Operation& op = job.program(members[m]).operations()[operations[m]];
        all.collective = op.collective;
        all.root = op.peer;
        all.bytes = std::max(all.bytes, op.bytes);
        if (op.rings) {
            all.algorithm = Algorithm::kRing;
        }
        split = split || op.splits != kNone;
    }
    for (std::size_t m = 0; split && m < members.size(); ++m) {
        const Program& program = job.program(members[m]);
        const Operation& op = program.operations()[operations[m]];
        std::vector<std::uint64_t>& parts = all.splits.emplace_back(members.size());
        for (std::size_t to = 0; to < members.size(); ++to) {
            parts[to] =
                op.splits == kNone ? op.bytes / members.size() : program.splits[op.splits + to];
        }
    }
    return all;
}

Group::Group(const Places& places, std::vector<std::uint32_t> gpus)
    : places_(places),
      gpus_(std::move(gpus)),
      even_(shape_of(places, gpus_).even),
      nccl_(parts_of(places, gpus_)) {
    for (std::uint32_t member = 0; member < gpus_.size(); ++member) {
        member_.try_emplace(places.end_of(gpus_[member]), member);
    }
}

std::optional<Op> Group::op_of(const GroupOperation& operation) const {
    switch (operation.collective) {
        case Collective::kAllReduce:
        case Collective::kBarrier:
            return Op::kAllReduce;
        case Collective::kAllGather:
            return Op::kAllGather;
        case Collective::kReduceScatter:
        case Collective::kReduceScatterBlock:
            return Op::kReduceScatter;
        case Collective::kReduce:  // A broadcast in reverse.
        case Collective::kBroadcast:
            return Op::kBroadcast;
        case Collective::kAllToAll:
            if (even_ && operation.splits.empty()) {
                return Op::kAllToAll;
            }
            break;
        case Collective::kGather:
        case Collective::kScatter:
            break;
    }
    return {};
}

GroupWork Group::work(const GroupOperation& operation) const {
    if (gpus_.size() < 2) {
        return {};
    }
    const auto op = op_of(operation);
    constexpr std::uint64_t kBarrierBytes = 4;
    if (!op) {
        return direct(pairs_of(operation));
    }
    const bool barrier = operation.collective == Collective::kBarrier;
    return chosen(*op, barrier ? kBarrierBytes : operation.bytes, operation.algorithm);
}

/// Returns the position of the domain at which data begin their way around a ring: that of the
/// root, or for a reduce, which ends at the root, the one after it.
std::uint32_t Group::first_position(const GroupOperation& operation) const {
    const Layout& layout = nccl_.layout();
    const std::uint32_t root = places_.domain_of(gpus_[operation.root]);
    for (std::uint32_t p = 0; p < layout.domains(); ++p) {
        if (places_.domain_of(gpus_[member_.at(layout.end(p, 0))]) == root) {
            return operation.collective == Collective::kReduce ? (p + 1) % layout.domains() : p;
        }
    }
    return 0;
}

/// Returns the messages between members of one domain, by rings with the bytes of
/// GroupWork::nvlink_us; NCCL's trees inside a domain are chains of the same bytes.
GroupSteps Group::inside(const GroupOperation& operation, const GroupWork& work) const {
    const auto members = static_cast<std::uint32_t>(gpus_.size());
    const auto op = op_of(operation);
    GroupSteps made{.inside = true, .nvlink = true};
    if (!op || *op == Op::kAllToAll) {
        for (const Pair& pair : pairs_of(operation)) {
            made.all.push_back({.from = pair.from, .to = pair.to, .bytes = pair.bytes});
        }
        made.hops = 1;
        return made;
    }
    std::vector<std::uint32_t> numbers(members);
    std::iota(numbers.begin(), numbers.end(), 0U);
    const Layout ring(std::move(numbers), 1, 1);
    const double rate = nvlink_rate(places_.cluster());
    const auto bytes = static_cast<std::uint64_t>(std::llround(work.nvlink_us / 1e6 * rate));
    const Flows flows = ring_flows(ring, 1, std::max<std::uint64_t>(bytes, 1));
    const bool to_root = operation.collective == Collective::kReduce;
    CollectiveSteps steps =
        *op == Op::kBroadcast
            ? chain_steps(ring, flows, (operation.root + (to_root ? 1 : 0)) % members)
            : ring_steps(ring, flows,
                         std::min((*op == Op::kAllReduce ? 2 : 1) * (members - 1), kStepsMax));
    made.hops = steps.hops;
    for (CollectiveStep& step : steps.all) {
        made.all.push_back({.from = step.flow.from,
                            .to = step.flow.to,
                            .bytes = step.flow.bytes,
                            .after = std::move(step.after),
                            .behind = step.behind,
                            .leads = step.leads});
    }
    return made;
}

/// Adds what members of a domain send each other while NICs send to other domains: parts for each
/// other, and in an even all-to-all also those that the other member's rail takes to other domains.
void Group::add_near(const GroupOperation& operation, GroupSteps& made) const {
    const bool even = op_of(operation).has_value();
    for (const Pair& pair : pairs_of(operation)) {
        if (places_.share_nvlink(gpus_[pair.from], gpus_[pair.to])) {
            const std::uint64_t times = even ? nccl_.layout().domains() : 1;
            made.all.push_back({.from = pair.from, .to = pair.to, .bytes = pair.bytes * times});
        }
    }
    made.nvlink = true;
}

GroupSteps Group::steps(const GroupOperation& operation, const GroupWork& work) const {
    GroupSteps made;
    const bool one_domain = gpus_.size() > 1 && nccl_.layout().domains() == 1;
    if (one_domain && places_.share_nvlink(gpus_[0], gpus_[1])) {
        return work.algorithm == Algorithm::kNvls ? made : inside(operation, work);
    }
    const auto op = op_of(operation);
    if (!op) {
        for (const auto& round : work.rounds) {
            for (const GroupFlow& flow : round) {
                made.all.push_back({.from = flow.from, .to = flow.to, .bytes = flow.nics.bytes});
            }
        }
        made.hops = static_cast<std::uint32_t>(work.rounds.size());
        add_near(operation, made);
        return made;
    }
    std::vector<Flows> rounds;
    for (const auto& round : work.rounds) {
        Flows& flows = rounds.emplace_back();
        for (const GroupFlow& flow : round) {
            flows.push_back(flow.nics);
        }
    }
    CollectiveSteps steps = steps_of(nccl_.layout(), *op, work.algorithm, rounds,
                                     *op == Op::kBroadcast ? first_position(operation) : 0);
    made.hops = steps.hops;
    for (CollectiveStep& step : steps.all) {
        made.all.push_back({.from = member_.at(step.flow.from),
                            .to = member_.at(step.flow.to),
                            .bytes = step.flow.bytes,
                            .after = std::move(step.after),
                            .behind = step.behind,
                            .leads = step.leads});
    }
    if (*op == Op::kAllToAll) {
        add_near(operation, made);
    }
    return made;
}

GroupWork Group::chosen(Op op, std::uint64_t bytes, std::optional<Algorithm> algorithm) const {
    bytes = std::max<std::uint64_t>(bytes, 1);
    nccl::Choice choice = nccl_.choose(op, bytes);
    if (algorithm) {
        choice.algorithm = *algorithm;
        choice.protocol = nccl::choose_protocol(nccl_.comm(), op, *algorithm, bytes);
    }
    const Parts parts = nccl_.parts(op, choice.algorithm, choice.protocol, bytes);
    GroupWork work{.algorithm = choice.algorithm,
                   .software_us = parts.software_us +
                                  parts.round_us * static_cast<double>(parts.rounds.size()),
                   .flow_bytes_per_s = parts.flow_bytes_per_s,
                   .fabric_us_min = parts.fabric_us_min,
                   .nvlink_us = parts.nvlink_us};
    for (const Flows& flows : parts.rounds) {
        std::vector<GroupFlow>& round = work.rounds.emplace_back();
        for (const NicFlow& flow : flows) {
            round.push_back({member_.at(flow.from), member_.at(flow.to), flow});
        }
    }
    return work;
}

std::vector<Group::Pair> Group::pairs_of(const GroupOperation& operation) const {
    std::vector<Pair> pairs;
    const auto members = static_cast<std::uint32_t>(gpus_.size());
    const std::uint64_t each = operation.bytes / members;
    for (std::uint32_t from = 0; from < members; ++from) {
        for (std::uint32_t to = 0; to < members; ++to) {
            const bool goes = operation.collective == Collective::kGather ? to == operation.root
                              : operation.collective == Collective::kScatter
                                  ? from == operation.root
                                  : true;
            const std::uint64_t bytes =
                operation.splits.empty() ? each : operation.splits[from][to];
            if (goes && from != to && bytes != 0) {
                pairs.push_back({from, to, bytes});
            }
        }
    }
    return pairs;
}

GroupWork Group::direct(std::span<const Pair> pairs) const {
    GroupWork work;
    work.algorithm = Algorithm::kDirect;
    work.software_us = kDirectStartUs + nccl::hop_us(Protocol::kSimple);
    std::vector<double> near(gpus_.size());
    std::vector<GroupFlow> round;
    for (const Pair& pair : pairs) {
        const std::uint32_t from = gpus_[pair.from];
        const std::uint32_t to = gpus_[pair.to];
        if (places_.share_nvlink(from, to)) {
            near[pair.from] += static_cast<double>(pair.bytes);
        } else {
            round.push_back({pair.from,
                             pair.to,
                             {places_.end_towards(from, to), places_.end_of(to), pair.bytes, 0}});
        }
    }
    if (!round.empty()) {
        work.rounds.push_back(std::move(round));
    }
    if (const double most = std::ranges::max(near); most > 0) {
        work.nvlink_us = most / nvlink_rate(places_.cluster()) * 1e6;
    }
    return work;
}

}  // namespace softib::plan::trace
