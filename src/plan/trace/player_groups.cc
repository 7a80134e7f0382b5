// SPDX-License-Identifier: BSD-2-Clause
// Collective operations of groups of ranks.
#include <fmt/format.h>

#include <algorithm>

#include "plan/trace/player.h"

namespace softib::plan::trace {

namespace {

constexpr double kPsInUs = 1e6;

TimePs ps_of(double us) {
    return static_cast<TimePs>(us * kPsInUs + 0.5);
}

}  // namespace

void Player::begin_collective(std::uint32_t who, std::uint32_t number, TimePs at) {
    const RankState& rank = ranks_[who];
    const std::uint32_t comm = operation(who, number).communicator;
    const std::uint32_t turn =
        plans_[rank.job][jobs_[rank.job].job.program_of[rank.rank]].number[number];
    if (turn != next_number_[first_number_[who] + comm]) {
        early_[{who, comm, turn}] = number;
        return;
    }
    arrive(who, number, at);
}

void Player::arrive(std::uint32_t who, std::uint32_t number, TimePs at) {
    const RankState& rank = ranks_[who];
    const Job& job = jobs_[rank.job].job;
    const Operation& op = operation(who, number);
    const Communicator& comm = job.communicators[op.communicator];
    const std::uint32_t index = comm.group_of[rank.rank];
    const std::uint32_t id = first_group_[rank.job][op.communicator] + index;
    GroupState& group = groups_[id];
    const std::vector<std::uint32_t>& members = comm.groups[index];
    if (group.arrived == 0) {
        group.operations.assign(members.size(), kNone);
    }
    for (std::size_t m = 0; m < members.size() && group.arrived != 0; ++m) {
        if (group.operations[m] == kNone) {
            continue;
        }
        const std::uint32_t other = first_rank_[rank.job] + members[m];
        if (operation(other, group.operations[m]).collective != op.collective) {
            return fail(fmt::format(
                "rank {} does '{}' where rank {} of its group does '{}': ranks of a communicator "
                "must call its operations in one order",
                rank.rank, describe(job, rank.rank, number), members[m],
                describe(job, members[m], group.operations[m])));
        }
        break;
    }
    group.operations[member_of_[first_member_of_[rank.job] + op.communicator][rank.rank]] = number;
    if (++group.arrived == members.size()) {
        begin_group(id, at);
    }
}

void Player::begin_group(std::uint32_t id, TimePs at) {
    GroupState& group = groups_[id];
    const Job& played = jobs_[group.job].job;
    const GroupOperation op = group_operation(
        played, played.communicators[group.communicator].groups[group.group], group.operations);
    if (!group.placed) {
        std::vector<std::uint32_t> gpus;
        const PlacedJob& job = jobs_[group.job];
        for (const std::uint32_t rank :
             job.job.communicators[group.communicator].groups[group.group]) {
            gpus.push_back(job.gpus[rank]);
        }
        group.placed = std::make_unique<Group>(places_, std::move(gpus));
    }
    group.work = group.placed->work(op);
    group.begun_at = at;
    group.fabric_ps = 0;
    group.round = 0;
    const auto near = static_cast<std::uint64_t>(group.work.nvlink_us / 1e6 * nvlink_rate_);
    const Job& job = jobs_[group.job].job;
    for (const std::uint32_t rank : job.communicators[group.communicator].groups[group.group]) {
        ranks_[first_rank_[group.job] + rank].times.nvlink_bytes += near;
    }
    begin_round(id, at);
}

void Player::begin_round(std::uint32_t id, TimePs at) {
    GroupState& group = groups_[id];
    group.round_at = at;
    if (group.round == group.work.rounds.size()) {
        // NCCL's latencies include a short path through the fabric for each round.
        const TimePs known = leaf_ps_ * group.work.rounds.size();
        const TimePs fabric = group.fabric_ps - std::min(group.fabric_ps, known);
        const TimePs moved =
            std::max({fabric, ps_of(group.work.fabric_us_min), ps_of(group.work.nvlink_us)});
        const TimePs ends_at = group.begun_at + ps_of(group.work.software_us) + moved;
        return push(std::max(at, ends_at), What::kGroupEnd, id);
    }
    const std::vector<GroupFlow>& flows = group.work.rounds[group.round];
    group.open = static_cast<std::uint32_t>(flows.size());
    const auto& members =
        jobs_[group.job].job.communicators[group.communicator].groups[group.group];
    for (std::uint32_t i = 0; i < flows.size(); ++i) {
        const GroupFlow& flow = flows[i];
        RankState& from = ranks_[first_rank_[group.job] + members[flow.from]];
        if (flow.nics.from == flow.nics.to) {
            --group.open;  // Domains that share a NIC exchange nothing over the fabric.
            continue;
        }
        from.times.fabric_bytes += flow.nics.bytes;
        send(flow.nics, {id, i}, at);
    }
    if (group.open == 0) {
        push(at, What::kRound, id);
    }
}

void Player::end_flow(std::uint32_t id, std::uint32_t number, TimePs at) {
    GroupState& group = groups_[id];
    const GroupFlow& flow = group.work.rounds[group.round][number];
    const auto& members =
        jobs_[group.job].job.communicators[group.communicator].groups[group.group];
    if (options_.keep_flows) {
        flows_.push_back({.job = group.job,
                          .from = members[flow.from],
                          .to = members[flow.to],
                          .operation = group.operations[flow.from],
                          .bytes = flow.nics.bytes,
                          .started_at = group.round_at,
                          .delivered_at = at});
    }
    if (--group.open != 0) {
        return;
    }
    // A round takes at least as long as channels need to copy its longest flow.
    TimePs ends_at = at;
    if (group.work.flow_bytes_per_s > 0) {
        std::uint64_t longest = 0;
        for (const GroupFlow& each : group.work.rounds[group.round]) {
            longest = std::max(longest, each.nics.bytes);
        }
        ends_at = std::max(
            ends_at, group.round_at + leaf_ps_ +
                         ps_of(static_cast<double>(longest) / group.work.flow_bytes_per_s * 1e6));
    }
    push(ends_at, What::kRound, id);
}

void Player::end_round(std::uint32_t id, TimePs at) {
    GroupState& group = groups_[id];
    group.fabric_ps += at - group.round_at;
    ++group.round;
    begin_round(id, at);
}

void Player::end_group(std::uint32_t id, TimePs at) {
    GroupState& group = groups_[id];
    const std::vector<std::uint32_t> operations = std::move(group.operations);
    group.operations.clear();
    group.arrived = 0;
    group.work = {};
    const std::vector<std::uint32_t>& members =
        jobs_[group.job].job.communicators[group.communicator].groups[group.group];
    for (std::size_t m = 0; m < members.size(); ++m) {
        const std::uint32_t who = first_rank_[group.job] + members[m];
        const std::uint32_t turn = ++next_number_[first_number_[who] + group.communicator];
        end(who, operations[m], at);
        const auto early = early_.find({who, group.communicator, turn});
        if (early != early_.end()) {
            const std::uint32_t next = early->second;
            early_.erase(early);
            arrive(who, next, at);
        }
    }
}

}  // namespace softib::plan::trace
