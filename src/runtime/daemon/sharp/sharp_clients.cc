// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/sharp/sharp_clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/daemon/log.h"
#include "runtime/shm/arena_routes.h"
#include "runtime/shm/packet_queue.h"

namespace softib::live {

namespace {

using sharp::Error;
using sharp::GroupId;
using sharp::GroupState;
using sharp::JobId;
using sharp::JobState;

constexpr std::uint32_t kMemberQpnFirst = 0x800000;

SharpReply refuse_with(Error error) {
    return {.error = static_cast<std::int32_t>(error)};
}

const char* name_of(JobState::Phase phase) {
    switch (phase) {
        case JobState::kForming:
            return "forming";
        case JobState::kConfiguring:
            return "configuring";
        case JobState::kActive:
            return "active";
        case JobState::kFailed:
            return "failed";
    }
    return "-";
}

}  // namespace

SharpClients::SharpClients(const Arena& arena, Management& management)
    : arena_(arena), management_(management) {
    management_.set_settler([this] { settle(); });
}

SharpReply SharpClients::execute(int fd, const SharpCommand& command, int& file,
                                 std::uint64_t now_ns) {
    if (is_packet_path(arena_) || arena_.header->link_layer != LinkLayer::kInfiniBand) {
        return refuse_with(Error::kNotSupported);
    }
    if (command.operation == SharpCommand::kCreateJob) {
        return create_job(fd, command);
    }
    if (command.operation == SharpCommand::kJoinJob) {
        return join_job(fd, command);
    }
    if (!is_member(fd, command)) {
        return refuse_with(Error::kInvalid);
    }
    sharp::Manager& manager = management_.aggregation();
    switch (command.operation) {
        case SharpCommand::kStartJob:
            return start_job(command, now_ns);
        case SharpCommand::kCreateGroup: {
            const auto group = manager.create_group(command.job, command.size);
            return group ? SharpReply{.job = command.job, .group = *group}
                         : refuse_with(group.error());
        }
        case SharpCommand::kJoinGroup: {
            const auto& ranks = clients_.at(fd).ranks;
            return refuse_with(
                manager.join_group(command.job, command.group, command.rank, *ranks.begin()));
        }
        case SharpCommand::kStartGroup:
            return start_group(command, now_ns);
        case SharpCommand::kMapGroup:
            return map_group(command, file);
        case SharpCommand::kLockGroup:
            return lock_group(command, now_ns);
        case SharpCommand::kLeaveGroup:
            left_[{command.job, command.group}].insert(*clients_.at(fd).ranks.begin());
            return leave_group(command, now_ns);
        case SharpCommand::kLeaveJob:
            return leave_job(fd, command, now_ns);
        default:
            return refuse_with(Error::kInvalid);
    }
}

bool SharpClients::is_member(int fd, const SharpCommand& command) const {
    const auto found = clients_.find(fd);
    return found != clients_.end() && found->second.job == command.job &&
           !found->second.ranks.empty();
}

void SharpClients::read_routes() {
    const std::uint64_t now = arena_.header->route_generation.load();
    if (std::exchange(routes_seen_, now) == now) {
        return;
    }
    auto routes = read_arena_routes(arena_);
    if (!routes) {
        log_warning("aggregation manager: cannot read the routes: {}", routes.error());
        return;
    }
    management_.aggregation().set_routes(std::move(routes->graph), std::move(routes->lfts));
}

void SharpClients::run(std::uint64_t now_ns) {
    management_.run(now_ns);
    take_events();
}

void SharpClients::follow(std::uint64_t now_ns) {
    if (!management_.aggregation().jobs().empty()) {
        const std::uint64_t before = routes_seen_;
        read_routes();
        if (before != routes_seen_) {
            management_.run(now_ns);
        }
    }
    take_events();
}

SharpReply SharpClients::create_job(int fd, const SharpCommand& command) {
    if (clients_.contains(fd)) {
        return refuse_with(Error::kInvalid);
    }
    const auto job = management_.aggregation().create_job(
        {.key = command.key,
         .size = command.size,
         .quota = {command.osts, command.payload_bytes, command.groups}});
    if (!job) {
        return refuse_with(job.error());
    }
    clients_[fd].job = *job;
    return {.job = *job};
}

SharpReply SharpClients::join_job(int fd, const SharpCommand& command) {
    const auto found = clients_.find(fd);
    if ((found != clients_.end() &&
         (found->second.job != command.job || !found->second.ranks.empty())) ||
        command.hca >= arena_.header->hcas) {
        return refuse_with(Error::kInvalid);
    }
    const HcaRecord& hca = arena_.hcas[command.hca];
    const Lid lid{hca.lid.load(std::memory_order_relaxed)};
    if (lid == kLidUnassigned || hca.state.load(std::memory_order_relaxed) != PortState::kActive) {
        return refuse_with(Error::kDevice);
    }
    next_qpn_ = (next_qpn_ + 1) % (kMemberQpnFirst - 1);
    const Error error = management_.aggregation().join(command.job, command.rank, lid,
                                                       Qpn{kMemberQpnFirst + next_qpn_});
    if (error == Error::kNone) {
        clients_[fd].job = command.job;
        clients_[fd].ranks.insert(command.rank);
        alive_[command.job].insert(command.rank);
    }
    return refuse_with(error);
}

SharpReply SharpClients::start_job(const SharpCommand& command, std::uint64_t now_ns) {
    sharp::Manager& manager = management_.aggregation();
    const JobState* job = manager.job(command.job);
    if (job->phase == JobState::kForming) {
        read_routes();
        if (const Error error = manager.start(command.job); error != Error::kNone) {
            return refuse_with(error);
        }
    }
    run(now_ns);
    job = manager.job(command.job);
    if (job->phase == JobState::kFailed) {
        log_warning("aggregation manager: no tree for job {}: {}", command.job, job->reason);
        return refuse_with(job->error);
    }
    return {.pending = job->phase == JobState::kActive ? 0U : 1U,
            .job = command.job,
            .osts = job->request.quota.osts,
            .payload_bytes = job->request.quota.payload_bytes,
            .groups = job->request.quota.groups,
            .depth = job->plan.depth};
}

SharpReply SharpClients::start_group(const SharpCommand& command, std::uint64_t now_ns) {
    sharp::Manager& manager = management_.aggregation();
    const auto find = [&]() -> const GroupState* {
        const JobState* const job = manager.job(command.job);
        const auto found = job->groups.find(command.group);
        return found == job->groups.end() ? nullptr : &found->second;
    };
    const GroupState* group = find();
    if (group != nullptr && group->phase == GroupState::kForming) {
        if (const Error error = manager.start_group(command.job, command.group);
            error != Error::kNone) {
            return refuse_with(error);
        }
    }
    run(now_ns);
    group = find();
    if (group == nullptr) {
        return refuse_with(Error::kGroupId);
    }
    if (group->phase == GroupState::kFailed) {
        return refuse_with(group->error);
    }
    if (group->phase == GroupState::kConfiguring) {
        return {.pending = 1};
    }
    return files_.contains({command.job, command.group}) ? SharpReply{}
                                                         : refuse_with(Error::kTreeInfo);
}

SharpReply SharpClients::map_group(const SharpCommand& command, int& file) {
    const auto found = files_.find({command.job, command.group});
    if (found == files_.end()) {
        return refuse_with(Error::kGroupId);
    }
    file = found->second.share();
    return refuse_with(file < 0 ? Error::kNoMemory : Error::kNone);
}

SharpReply SharpClients::lock_group(const SharpCommand& command, std::uint64_t now_ns) {
    sharp::Manager& manager = management_.aggregation();
    if (const Error error = manager.lock_group(command.job, command.group); error != Error::kNone) {
        return refuse_with(error);
    }
    run(now_ns);
    const JobState* const job = manager.job(command.job);
    const auto group = job->groups.find(command.group);
    if (group == job->groups.end()) {
        return refuse_with(Error::kGroupId);
    }
    switch (group->second.lock) {
        case GroupState::kLocked:
            return {};
        case GroupState::kLocking:
            return {.pending = 1};
        default:
            return refuse_with(Error::kLockFailed);
    }
}

/// The group ends when all its members have left it, or one before it was whole.
SharpReply SharpClients::leave_group(const SharpCommand& command, std::uint64_t now_ns) {
    sharp::Manager& manager = management_.aggregation();
    const JobState* const job = manager.job(command.job);
    const auto group = job->groups.find(command.group);
    const Key key{command.job, command.group};
    if (group == job->groups.end()) {
        left_.erase(key);
        return refuse_with(job->phase == JobState::kFailed ? Error::kNone : Error::kGroupId);
    }
    const std::set<std::uint32_t>& left = left_[key];
    if (group->second.phase != GroupState::kActive ||
        std::ranges::all_of(group->second.members,
                            [&](std::uint32_t m) { return left.contains(m); })) {
        if (const auto file = files_.find(key); file != files_.end()) {
            file->second.settle(arena_);
            files_.erase(file);
        }
        left_.erase(key);
        manager.end_group(command.job, command.group);
        run(now_ns);
    }
    return {};
}

SharpReply SharpClients::leave_job(int fd, const SharpCommand& command, std::uint64_t now_ns) {
    std::set<std::uint32_t>& alive = alive_[command.job];
    for (const std::uint32_t rank : clients_.at(fd).ranks) {
        alive.erase(rank);
    }
    clients_.erase(fd);
    if (alive.empty()) {
        alive_.erase(command.job);
        management_.aggregation().end_job(command.job);
        run(now_ns);
    }
    return {};
}

void SharpClients::close(int fd, std::uint64_t now_ns) {
    const auto found = clients_.find(fd);
    if (found == clients_.end()) {
        return;
    }
    const JobId job = found->second.job;
    const std::string who = found->second.ranks.empty()
                                ? "the creator"
                                : fmt::format("member {}", *found->second.ranks.begin());
    management_.aggregation().fail_job(job, Error::kFailed,
                                       fmt::format("{} ended without leaving", who));
    leave_job(fd, {.job = job}, now_ns);
    take_events();
}

void SharpClients::take_events() {
    while (const auto event = management_.aggregation().poll_event()) {
        const JobState* const job = management_.aggregation().job(event->job);
        switch (event->kind) {
            case sharp::Event::kGroupActive:
                make_memory(event->job, event->group);
                break;
            case sharp::Event::kJobFailed:
                log_info("aggregation manager: job {} failed: {}", event->job,
                         job == nullptr ? "it is gone" : job->reason);
                drop_memory(event->job, job == nullptr ? Error::kFailed : job->error);
                break;
            case sharp::Event::kJobEnded:
                drop_memory(event->job, Error::kFailed);
                break;
            case sharp::Event::kJobActive:
            case sharp::Event::kGroupFailed:
                break;
        }
    }
}

/// The switches have the group: what they would do becomes the group's memory.
void SharpClients::make_memory(JobId job_id, GroupId group_id) {
    const JobState* const job = management_.aggregation().job(job_id);
    if (job == nullptr || !job->groups.contains(group_id)) {
        return;
    }
    const GroupState& group = job->groups.at(group_id);
    sharp::MemberEnds ends;
    for (std::uint32_t rank = 0; rank < group.members.size(); ++rank) {
        const sharp::Member& member = job->members[group.members[rank]];
        ends[{member.lid, member.qpn}] = rank;
    }
    auto tree = sharp::walk_group([&](Lid lid) { return management_.aggregation_tables(lid); },
                                  job->plan.nodes[0].lid, group_id, ends);
    if (!tree) {
        log_warning("aggregation manager: group {} of job {}: {}", group_id, job_id, tree.error());
        return;
    }
    auto file = GroupFile::make(std::move(*tree), static_cast<std::uint32_t>(ends.size()),
                                job->request.quota.payload_bytes);
    if (file) {
        files_.emplace(Key{job_id, group_id}, std::move(*file));
    }
}

void SharpClients::drop_memory(JobId job, Error error) {
    const auto first = files_.lower_bound({job, 0});
    const auto last = files_.lower_bound({job + 1, 0});
    for (auto at = first; at != last; ++at) {
        at->second.settle(arena_);
        at->second.fail(error);
    }
    files_.erase(first, last);
    left_.erase(left_.lower_bound({job, 0}), left_.lower_bound({job + 1, 0}));
}

void SharpClients::settle() {
    for (auto& [key, file] : files_) {
        file.settle(arena_);
    }
}

std::string SharpClients::describe() const {
    std::string text;
    const auto out = std::back_inserter(text);
    const sharp::Manager& manager = management_.aggregation();
    for (std::uint32_t i = 0; i < arena_.header->switches; ++i) {
        const SwitchRecord& sw = arena_.switches[i];
        const Lid lid{sw.lid.load(std::memory_order_relaxed)};
        const auto* const tables = management_.aggregation_tables(lid);
        if (tables == nullptr || lid == kLidUnassigned) {
            continue;
        }
        fmt::format_to(out, "node\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", sw.name, lid.value,
                       tables->trees().size(), tables->info().tree_table_size,
                       tables->groups().size(), tables->info().group_table_size, tables->qp_count(),
                       tables->info().max_num_qps);
    }
    const auto switch_name = [&](Lid lid) -> const char* {
        const NodeRef& owner = arena_.lid_owner[lid.value];
        return owner.kind == NodeRef::kSwitch ? arena_.switches[owner.index].name : "-";
    };
    for (const auto& [id, job] : manager.jobs()) {
        fmt::format_to(out, "job\t{}\t{:#x}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", id,
                       job.request.key, name_of(job.phase), job.members.size(), job.tree_id,
                       job.plan.depth, job.request.quota.osts, job.request.quota.payload_bytes,
                       job.request.quota.groups, job.groups.size(), job.reason);
        for (std::size_t n = 0; n < job.plan.nodes.size(); ++n) {
            const sharp::TreePlan::Node& node = job.plan.nodes[n];
            fmt::format_to(out, "switch\t{}\t{}\t{}\t{}\t{}\n", id, switch_name(node.lid),
                           node.parent == sharp::TreePlan::kRoot
                               ? "-"
                               : switch_name(job.plan.nodes[node.parent].lid),
                           node.port_to_parent, node.port_at_parent);
            for (const auto& [member, port] : node.members) {
                const NodeRef& owner = arena_.lid_owner[job.members[member].lid.value];
                const HcaRecord& hca = arena_.hcas[owner.kind == NodeRef::kHca ? owner.index : 0];
                fmt::format_to(out, "member\t{}\t{}\t{}/{}\t{}\t{}\n", id, member,
                               arena_.hosts[hca.host].name, hca.name, switch_name(node.lid), port);
            }
        }
        for (const auto& [number, group] : job.groups) {
            fmt::format_to(out, "group\t{}\t{}\t{}\t{}\n", id, number, group.members.size(),
                           group.lock == GroupState::kLocked ? "locked" : "unlocked");
        }
    }
    return text;
}

}  // namespace softib::live
