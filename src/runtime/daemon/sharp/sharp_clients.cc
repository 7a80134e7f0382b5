// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/sharp/sharp_clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/daemon/log.h"
#include "runtime/shm/packet_queue.h"

namespace softib::daemon {

namespace {

using sharp::Error;
using sharp::GroupId;
using sharp::GroupState;
using sharp::JobId;
using sharp::JobState;

shm::SharpReply refuse_with(Error error) {
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

SharpClients::SharpClients(const shm::Arena& arena, Management& management)
    : arena_(arena), management_(management) {
    management_.set_settler([this] { settle(); });
}

shm::SharpReply SharpClients::execute(int fd, const shm::SharpCommand& command, int& file,
                                      std::uint64_t now_ns) {
    if (arena_.header->link_layer != hca::LinkLayer::kInfiniBand) {
        return refuse_with(Error::kNotSupported);
    }
    const bool leaves = command.operation == shm::SharpCommand::kLeaveGroup ||
                        command.operation == shm::SharpCommand::kLeaveJob;
    if (leaves && leaving_.contains(fd)) {
        return still_leaving(fd);
    }
    const bool founds = command.operation == shm::SharpCommand::kCreateJob ||
                        command.operation == shm::SharpCommand::kJoinJob;
    if (!founds && !is_member(fd, command)) {
        return refuse_with(Error::kInvalid);
    }
    switch (command.operation) {  // The first three do not depend on the manager.
        case shm::SharpCommand::kMapGroup:
            return map_group(command, file);
        case shm::SharpCommand::kLeaveGroup:
            left_[{command.job, command.group}].insert(*clients_.at(fd).ranks.begin());
            return leave_group(fd, command, now_ns);
        case shm::SharpCommand::kLeaveJob:
            return leave_job(fd, command, now_ns);
        default:
            return management_.job_client() != nullptr ? execute_remote(fd, command, now_ns)
                                                       : execute_here(fd, command, now_ns);
    }
}

shm::SharpReply SharpClients::execute_here(int fd, const shm::SharpCommand& command,
                                           std::uint64_t now_ns) {
    sharp::Manager& manager = management_.aggregation();
    switch (command.operation) {
        case shm::SharpCommand::kCreateJob:
            return create_job(fd, command);
        case shm::SharpCommand::kJoinJob:
            return join_job(fd, command);
        case shm::SharpCommand::kStartJob:
            return start_job(command, now_ns);
        case shm::SharpCommand::kCreateGroup: {
            const auto group = manager.create_group(command.job, command.size);
            return group ? shm::SharpReply{.job = command.job, .group = *group}
                         : refuse_with(group.error());
        }
        case shm::SharpCommand::kJoinGroup: {
            const auto& ranks = clients_.at(fd).ranks;
            return refuse_with(
                manager.join_group(command.job, command.group, command.rank, *ranks.begin()));
        }
        case shm::SharpCommand::kStartGroup:
            return start_group(command, now_ns);
        case shm::SharpCommand::kLockGroup:
            return lock_group(command, now_ns);
        default:
            return refuse_with(Error::kInvalid);
    }
}

bool SharpClients::is_member(int fd, const shm::SharpCommand& command) const {
    const auto found = clients_.find(fd);
    return found != clients_.end() && found->second.job == command.job &&
           !found->second.ranks.empty();
}

/// Tells our aggregation manager if a subnet manager has written something since the last call:
/// what the aggregation manager has read may be out of date.
void SharpClients::watch_routes(std::uint64_t now_ns) {
    const std::uint64_t now = arena_.header->route_generation.load();
    if (std::exchange(routes_seen_, now) != now) {
        management_.note_new_routes(now_ns);
    }
}

void SharpClients::run(std::uint64_t now_ns) {
    management_.run(now_ns);
    take_events();
}

std::uint64_t SharpClients::follow(std::uint64_t now_ns) {
    std::uint64_t next = UINT64_MAX;
    if (management_.job_client() != nullptr) {
        next = keep_alive(now_ns);
        next = std::min(next, management_.run(now_ns));
    } else if (!jobs().empty()) {
        const std::uint64_t before = routes_seen_;
        watch_routes(now_ns);
        if (before != routes_seen_) {
            next = management_.run(now_ns);
        }
    }
    take_events();
    return next;
}

const std::map<JobId, JobState>& SharpClients::jobs() const {
    return management_.job_client() != nullptr ? jobs_ : management_.aggregation().jobs();
}

const JobState* SharpClients::find_job(JobId id) const {
    const auto found = jobs().find(id);
    return found == jobs().end() ? nullptr : &found->second;
}

void SharpClients::end_group(JobId job, GroupId group) {
    if (management_.job_client() == nullptr) {
        management_.aggregation().end_group(job, group);
    } else if (jobs_.at(job).groups.erase(group) != 0) {
        tell_end({.op = wire::SharpJob::Op::kEndGroup, .job = job, .group = group});
    }
}

void SharpClients::end_job(JobId job) {
    if (management_.job_client() == nullptr) {
        management_.aggregation().end_job(job);
    } else {
        end_remote(job);
    }
}

void SharpClients::fail_job(JobId job, Error error, const std::string& reason) {
    if (management_.job_client() == nullptr) {
        management_.aggregation().fail_job(job, error, reason);
    } else {
        fail_remote(job, error, reason);
    }
}

shm::SharpReply SharpClients::create_job(int fd, const shm::SharpCommand& command) {
    if (clients_.contains(fd)) {
        return refuse_with(Error::kInvalid);
    }
    const auto job = management_.aggregation().create_job(
        {.key = command.key,
         .size = command.size,
         .quota = {command.osts, command.payload_bytes, command.groups},
         .streams = command.datagrams_only == 0});
    if (!job) {
        return refuse_with(job.error());
    }
    clients_[fd].job = *job;
    return {.job = *job};
}

std::expected<std::pair<Lid, Qpn>, Error> SharpClients::end_of_member(
    int fd, const shm::SharpCommand& command) {
    const auto found = clients_.find(fd);
    if ((found != clients_.end() &&
         (found->second.job != command.job || !found->second.ranks.empty())) ||
        command.hca >= arena_.header->hcas) {
        return std::unexpected(Error::kInvalid);
    }
    const shm::HcaRecord& hca = arena_.hcas[command.hca];
    const Lid lid{hca.lid.load(std::memory_order_relaxed)};
    if (lid == kLidUnassigned || hca.state.load(std::memory_order_relaxed) != PortState::kActive) {
        return std::unexpected(Error::kDevice);
    }
    next_qpn_ = (next_qpn_ + 1) % sharp::kMemberQpns;
    return std::pair(lid, Qpn{sharp::kMemberQpnLast - next_qpn_});
}

shm::SharpReply SharpClients::join_job(int fd, const shm::SharpCommand& command) {
    const auto end = end_of_member(fd, command);
    if (!end) {
        return refuse_with(end.error());
    }
    const Error error =
        management_.aggregation().join(command.job, command.rank, end->first, end->second);
    if (error == Error::kNone) {
        clients_[fd].job = command.job;
        clients_[fd].ranks.insert(command.rank);
        alive_[command.job].insert(command.rank);
    }
    return refuse_with(error);
}

shm::SharpReply SharpClients::start_job(const shm::SharpCommand& command, std::uint64_t now_ns) {
    sharp::Manager& manager = management_.aggregation();
    const JobState* job = manager.job(command.job);
    if (job->phase == JobState::kForming) {
        watch_routes(now_ns);
        management_.freshen_aggregation(now_ns);
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

shm::SharpReply SharpClients::start_group(const shm::SharpCommand& command, std::uint64_t now_ns) {
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
    return files_.contains({command.job, command.group}) ? shm::SharpReply{}
                                                         : refuse_with(Error::kTreeInfo);
}

shm::SharpReply SharpClients::map_group(const shm::SharpCommand& command, int& file) {
    const auto found = files_.find({command.job, command.group});
    if (found == files_.end()) {
        return refuse_with(Error::kGroupId);
    }
    file = found->second.share();
    return refuse_with(file < 0 ? Error::kNoMemory : Error::kNone);
}

shm::SharpReply SharpClients::lock_group(const shm::SharpCommand& command, std::uint64_t now_ns) {
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

// The group ends when all its members have left it, or when one leaves before the group is active.
shm::SharpReply SharpClients::leave_group(int fd, const shm::SharpCommand& command,
                                          std::uint64_t now_ns) {
    const JobState* const job = find_job(command.job);
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
        end_group(command.job, command.group);
        run(now_ns);
        return await_end(fd);
    }
    return {};
}

shm::SharpReply SharpClients::leave_job(int fd, const shm::SharpCommand& command,
                                        std::uint64_t now_ns) {
    std::set<std::uint32_t>& alive = alive_[command.job];
    for (const std::uint32_t rank : clients_.at(fd).ranks) {
        alive.erase(rank);
    }
    clients_.erase(fd);
    if (alive.empty()) {
        alive_.erase(command.job);
        end_job(command.job);
        run(now_ns);
        return await_end(fd);
    }
    return {};
}

void SharpClients::close(int fd, std::uint64_t now_ns) {
    if (sharp::JobClient* const client = management_.job_client()) {
        client->forget(static_cast<sharp::JobClient::Ticket>(fd));
        clients_asked_again_.erase(fd);
    }
    forget_leaving(fd);
    const auto found = clients_.find(fd);
    if (found == clients_.end()) {
        return;
    }
    const JobId job = found->second.job;
    const std::string who = found->second.ranks.empty()
                                ? "the creator"
                                : fmt::format("member {}", *found->second.ranks.begin());
    fail_job(job, Error::kFailed, fmt::format("{} ended without leaving", who));
    leave_job(fd, {.job = job}, now_ns);
    forget_leaving(fd);
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
    publish();
}

/// Makes the memory of a group that the switches have now, with the steps that they would take.
void SharpClients::make_memory(JobId job_id, GroupId group_id) {
    const JobState* const job = find_job(job_id);
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
                                job->request.quota.payload_bytes, is_packet_path(arena_));
    if (file) {
        files_.emplace(Key{job_id, group_id}, std::move(*file));
        ++files_made_;
    }
}

void SharpClients::publish() {
    if (!is_packet_path(arena_)) {
        return;
    }
    std::uint64_t changes = files_made_;
    for (std::uint32_t i = 0; i < arena_.header->switches; ++i) {
        const auto* const tables = management_.aggregation_tables(
            Lid{arena_.switches[i].lid.load(std::memory_order_relaxed)});
        changes += tables == nullptr ? 0 : tables->writes();
    }
    if (std::exchange(published_, changes) != changes) {
        arena_.header->sharp_generation.fetch_add(1);
        ring_carrier(arena_);
    }
}

sharp::SharpPlane SharpClients::plane() const {
    sharp::SharpPlane plane;
    for (std::uint32_t i = 0; i < arena_.header->switches; ++i) {
        const auto* const tables = management_.aggregation_tables(
            Lid{arena_.switches[i].lid.load(std::memory_order_relaxed)});
        if (tables != nullptr && tables->qp_count() != 0) {
            plane.nodes.push_back({i, tables->snapshot()});
        }
    }
    for (const auto& [key, file] : files_) {
        const JobState* const job = find_job(key.first);
        const auto group = job->groups.find(key.second);
        if (group == job->groups.end()) {
            continue;
        }
        const sharp::JobQuota& quota = job->request.quota;
        sharp::SharpPlane::Group told{
            .job = key.first,
            .group = key.second,
            .tree = job->tree_id,
            .datagram_bytes = quota.payload_bytes,
            .datagrams = std::max(quota.osts / std::max(quota.groups, 1U), 1U),
            .streams = sharp::default_an_info().streaming_operations};
        for (const std::uint32_t number : group->second.members) {
            const sharp::Member& member = job->members[number];
            told.members.push_back({arena_.lid_owner[member.lid.value].index, member.qpn.value});
        }
        plane.groups.push_back(std::move(told));
    }
    return plane;
}

int SharpClients::share_memory(JobId job, GroupId group) const {
    const auto found = files_.find({job, group});
    return found == files_.end() ? -1 : found->second.share();
}

void SharpClients::fail_all(const std::string& reason, std::uint64_t now_ns) {
    std::vector<JobId> all;
    for (const auto& [id, job] : jobs()) {
        all.push_back(id);
    }
    for (const JobId id : all) {
        fail_job(id, Error::kFailed, reason);
    }
    run(now_ns);
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
    for (std::uint32_t i = 0; i < arena_.header->switches; ++i) {
        const shm::SwitchRecord& sw = arena_.switches[i];
        const Lid lid{sw.lid.load(std::memory_order_relaxed)};
        const auto* const tables = management_.aggregation_tables(lid);
        if (tables == nullptr || lid == kLidUnassigned) {
            continue;
        }
        const auto streaming = std::ranges::count_if(tables->trees(), [](const auto& tree) {
            return tree.second.mode == wire::SharpTreeConfig::Mode::kSat;
        });
        const auto locks = std::ranges::count_if(
            tables->groups(), [](const auto& group) { return group.second.locked; });
        fmt::format_to(out, "node\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", sw.name,
                       lid.value, tables->trees().size(), tables->info().tree_table_size,
                       tables->groups().size(), tables->info().group_table_size, tables->qp_count(),
                       tables->info().max_num_qps, streaming, locks, tables->info().num_semaphores);
    }
    const auto switch_name = [&](Lid lid) -> const char* {
        const shm::NodeRef& owner = arena_.lid_owner[lid.value];
        return owner.kind == shm::NodeRef::kSwitch ? arena_.switches[owner.index].name : "-";
    };
    for (const auto& [id, job] : jobs()) {
        fmt::format_to(out, "job\t{}\t{:#x}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", id,
                       job.request.key, name_of(job.phase), job.members.size(), job.tree_id,
                       job.plan.depth, job.request.quota.osts, job.request.quota.payload_bytes,
                       job.request.quota.groups, job.groups.size(), job.reason,
                       job.streams ? "SAT" : "LLT");
        for (std::size_t n = 0; n < job.plan.nodes.size(); ++n) {
            const sharp::TreePlan::Node& node = job.plan.nodes[n];
            fmt::format_to(out, "switch\t{}\t{}\t{}\t{}\t{}\n", id, switch_name(node.lid),
                           node.parent == sharp::TreePlan::kRoot
                               ? "-"
                               : switch_name(job.plan.nodes[node.parent].lid),
                           node.port_to_parent, node.port_at_parent);
            for (const auto& [member, port] : node.members) {
                const shm::NodeRef& owner = arena_.lid_owner[job.members[member].lid.value];
                const shm::HcaRecord& hca =
                    arena_.hcas[owner.kind == shm::NodeRef::kHca ? owner.index : 0];
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

}  // namespace softib::daemon
