// SPDX-License-Identifier: BSD-2-Clause
// SharpClients for an aggregation manager that is a program: commands of members become MADs to the
// manager, and its answers are kept as the jobs that all other code reads. The manager's LID is in
// the switches, into which the manager wrote it for their traps.
#include <algorithm>
#include <utility>

#include "runtime/daemon/log.h"
#include "runtime/daemon/sharp/sharp_clients.h"

namespace softib::daemon {

namespace {

using sharp::Error;
using sharp::GroupId;
using sharp::GroupState;
using sharp::JobId;
using sharp::JobState;
using wire::SharpJob;

constexpr std::uint64_t kKeepAlivePeriodNs = 1'000'000'000;
// First tickets of keep-alives and of tell_end(). A smaller ticket is a connection's descriptor.
constexpr sharp::JobClient::Ticket kAliveTicket = std::uint64_t{1} << 40;
constexpr sharp::JobClient::Ticket kEndTicket = std::uint64_t{2} << 40;

SharpJob::Op op_of(shm::SharpCommand::Operation operation) {
    switch (operation) {
        case shm::SharpCommand::kCreateJob:
            return SharpJob::Op::kCreateJob;
        case shm::SharpCommand::kJoinJob:
            return SharpJob::Op::kJoinJob;
        case shm::SharpCommand::kStartJob:
            return SharpJob::Op::kStartJob;
        case shm::SharpCommand::kCreateGroup:
            return SharpJob::Op::kCreateGroup;
        case shm::SharpCommand::kJoinGroup:
            return SharpJob::Op::kJoinGroup;
        case shm::SharpCommand::kStartGroup:
            return SharpJob::Op::kStartGroup;
        case shm::SharpCommand::kLockGroup:
            return SharpJob::Op::kLockGroup;
        default:
            return SharpJob::Op::kKeepAlive;
    }
}

shm::SharpReply refused_by_manager(std::uint8_t error) {
    return {.error = -static_cast<std::int32_t>(error)};
}

}  // namespace

Lid SharpClients::manager_lid() const {
    for (std::uint32_t i = 0; i < arena_.header->switches; ++i) {
        const auto* const tables = management_.aggregation_tables(
            Lid{arena_.switches[i].lid.load(std::memory_order_relaxed)});
        if (tables != nullptr && tables->manager_lid() != kLidUnassigned) {
            return tables->manager_lid();
        }
    }
    return kLidUnassigned;
}

shm::SharpReply SharpClients::execute_remote(int fd, const shm::SharpCommand& command,
                                             std::uint64_t now_ns) {
    sharp::JobClient& client = *management_.job_client();
    const auto ticket = static_cast<sharp::JobClient::Ticket>(fd);
    if (!client.asks(ticket)) {
        auto request = request_of(fd, command);
        const Lid manager = manager_lid();
        if (!request || manager == kLidUnassigned) {
            return {.error =
                        static_cast<std::int32_t>(request ? Error::kSession : request.error())};
        }
        request->pending = std::exchange(clients_asked_again_[fd], false);
        client.ask(ticket, manager, *request);
        management_.run(now_ns);
    }
    const auto answer = client.take(ticket);
    if (!answer) {
        return {.pending = 1};
    }
    if (answer->op != op_of(command.operation)) {
        return {.error = static_cast<std::int32_t>(Error::kInvalid)};
    }
    if (answer->error != 0) {
        return refused_by_manager(answer->error);
    }
    if (answer->pending) {
        clients_asked_again_[fd] = true;
        return {.pending = 1};
    }
    publish();  // The carrier must know what the manager wrote before the member relies on it.
    return settle_answer(fd, *answer);
}

/// Returns the request to the manager for a command. The error says why it must not be sent.
std::expected<SharpJob, Error> SharpClients::request_of(int fd, const shm::SharpCommand& command) {
    SharpJob request{.op = op_of(command.operation),
                     .streams = command.datagrams_only == 0,
                     .job = command.job,
                     .group = command.group,
                     .size = command.size,
                     .rank = command.rank,
                     .key = command.key,
                     .osts = command.osts,
                     .payload_bytes = command.payload_bytes,
                     .groups = command.groups};
    switch (command.operation) {
        case shm::SharpCommand::kCreateJob:
            return clients_.contains(fd)
                       ? std::expected<SharpJob, Error>(std::unexpected(Error::kInvalid))
                       : request;
        case shm::SharpCommand::kJoinJob: {
            const auto end = end_of_member(fd, command);
            if (!end) {
                return std::unexpected(end.error());
            }
            if (!jobs_.contains(command.job) ||
                command.rank >= jobs_.at(command.job).members.size()) {
                return std::unexpected(Error::kInvalid);
            }
            request.lid = end->first;
            request.qpn = end->second;
            return request;
        }
        case shm::SharpCommand::kJoinGroup:
            request.member = *clients_.at(fd).ranks.begin();
            return request;
        default:
            return request;
    }
}

/// Does here what the manager has done there, and returns the reply to the member.
shm::SharpReply SharpClients::settle_answer(int fd, const SharpJob& answer) {
    if (answer.op == SharpJob::Op::kCreateJob) {
        if (answer.size > sharp::ManagerConfig{}.members_max) {
            return {.error = static_cast<std::int32_t>(Error::kInvalid)};
        }
        if (jobs_.contains(answer.job)) {  // An earlier manager gave this number.
            tell_end({.op = SharpJob::Op::kEndJob, .job = answer.job});
            return {.error = static_cast<std::int32_t>(Error::kJobCreate)};
        }
        JobState& job = jobs_[answer.job];
        job.request = {.key = answer.key, .size = answer.size, .streams = answer.streams};
        job.members.resize(answer.size);
        clients_[fd].job = answer.job;
        return {.job = answer.job};
    }
    const auto found = jobs_.find(answer.job);
    if (found == jobs_.end() || found->second.phase == JobState::kFailed) {
        return {.error = static_cast<std::int32_t>(Error::kFailed)};
    }
    JobState& job = found->second;
    switch (answer.op) {
        case SharpJob::Op::kJoinJob:
            job.members.at(answer.rank) = {answer.lid, answer.qpn, true};
            clients_[fd].job = answer.job;
            clients_[fd].ranks.insert(answer.rank);
            alive_[answer.job].insert(answer.rank);
            return {};
        case SharpJob::Op::kStartJob:
            job.phase = JobState::kActive;
            job.streams = answer.streams;
            job.tree_id = answer.tree;
            job.request.quota = {answer.osts, answer.payload_bytes, answer.groups};
            job.plan = read_plan(job, answer.root);
            job.plan.depth = answer.depth;
            return {.job = answer.job,
                    .osts = answer.osts,
                    .payload_bytes = answer.payload_bytes,
                    .groups = answer.groups,
                    .depth = answer.depth};
        case SharpJob::Op::kCreateGroup:
            if (answer.size > job.members.size()) {
                return {.error = static_cast<std::int32_t>(Error::kInvalid)};
            }
            job.groups[answer.group].members.assign(answer.size, UINT32_MAX);
            return {.job = answer.job, .group = answer.group};
        default:
            return settle_group(job, answer);
    }
}

shm::SharpReply SharpClients::settle_group(JobState& job, const SharpJob& answer) {
    const auto group = job.groups.find(answer.group);
    if (group == job.groups.end()) {
        return {.error = static_cast<std::int32_t>(Error::kGroupId)};
    }
    switch (answer.op) {
        case SharpJob::Op::kJoinGroup:
            if (answer.rank >= group->second.members.size()) {
                return {.error = static_cast<std::int32_t>(Error::kInvalid)};
            }
            group->second.members[answer.rank] = answer.member;
            return {};
        case SharpJob::Op::kStartGroup:
            if (std::ranges::find(group->second.members, UINT32_MAX) !=
                group->second.members.end()) {
                return {.pending = 1};  // A member has not taken the answer to its kJoinGroup yet.
            }
            if (std::exchange(group->second.phase, GroupState::kActive) != GroupState::kActive) {
                make_memory(answer.job, answer.group);
                publish();
            }
            return files_.contains({answer.job, answer.group})
                       ? shm::SharpReply{}
                       : shm::SharpReply{.error = static_cast<std::int32_t>(Error::kTreeInfo)};
        case SharpJob::Op::kLockGroup:
            group->second.lock = GroupState::kLocked;
            return {};
        default:
            return {};
    }
}

/// Returns the tree of a job as the switches have it, from the root down.
sharp::TreePlan SharpClients::read_plan(const JobState& job, Lid root) const {
    sharp::TreePlan plan;
    plan.nodes.push_back({.lid = root});
    for (std::uint32_t number = 0; number < plan.nodes.size(); ++number) {
        const auto* const tables = management_.aggregation_tables(plan.nodes[number].lid);
        const auto* const tree = tables == nullptr ? nullptr : tables->tree(job.tree_id);
        if (tree == nullptr || plan.nodes.size() > arena_.header->switches) {
            continue;
        }
        if (const auto* const up = tables->qp(tree->parent)) {
            plan.nodes[number].port_to_parent = up->port;
        }
        for (const Qpn child : tree->children) {
            const wire::SharpQpcConfig* const way = tables->qp(child);
            const auto member = std::ranges::find_if(job.members, [&](const sharp::Member& each) {
                return way != nullptr && each.lid == way->rlid && each.qpn == way->rqpn;
            });
            if (member != job.members.end()) {
                plan.nodes[number].members.push_back(
                    {static_cast<std::uint32_t>(member - job.members.begin()), way->port});
            } else if (way != nullptr) {
                plan.nodes.push_back(
                    {.lid = way->rlid, .parent = number, .port_at_parent = way->port});
            }
        }
    }
    return plan;
}

/// Tells the manager which jobs are still needed, and fails those that the manager has ended.
/// Returns the time at which it must be called again.
std::uint64_t SharpClients::keep_alive(std::uint64_t now_ns) {
    sharp::JobClient& client = *management_.job_client();
    std::erase_if(ends_,
                  [&](sharp::JobClient::Ticket end) { return client.take(end).has_value(); });
    std::uint64_t next = UINT64_MAX;
    std::vector<std::pair<JobId, Error>> failed;
    for (const auto& [id, job] : jobs_) {
        if (job.phase == JobState::kFailed) {
            continue;
        }
        const auto answer = client.take(kAliveTicket + id);
        if (answer && answer->error != 0) {
            failed.emplace_back(id, static_cast<Error>(-static_cast<int>(answer->error)));
            continue;
        }
        std::uint64_t& due = alive_due_ns_[id];
        if (due <= now_ns && !client.asks(kAliveTicket + id)) {
            client.ask(kAliveTicket + id, manager_lid(),
                       {.op = SharpJob::Op::kKeepAlive, .job = id});
            due = now_ns + kKeepAlivePeriodNs;
        }
        next = std::min(next, due);
    }
    for (const auto& [id, error] : failed) {
        fail_job(id, error,
                 error == Error::kSession ? "the aggregation manager does not answer"
                                          : "the aggregation manager has ended it");
    }
    return next;
}

void SharpClients::fail_remote(JobId id, Error error, const std::string& reason) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || found->second.phase == JobState::kFailed) {
        return;
    }
    log_info("aggregation manager: job {} failed: {}", id, reason);
    found->second.phase = JobState::kFailed;
    found->second.error = error;
    found->second.reason = reason;
    drop_memory(id, error);
    found->second.groups.clear();
    tell_end({.op = SharpJob::Op::kEndJob, .job = id});
}

void SharpClients::tell_end(const SharpJob& end) {
    last_end_ = {std::max(last_end_.ticket, kEndTicket) + 1, end};
    ends_.push_back(last_end_.ticket);
    management_.job_client()->ask(last_end_.ticket, manager_lid(), end);
}

shm::SharpReply SharpClients::await_end(int fd) {
    if (ends_.empty() || ends_.back() != last_end_.ticket) {
        return {};  // The manager has answered, or it is our own.
    }
    ends_.pop_back();
    leaving_[fd] = last_end_;
    return still_leaving(fd);
}

// A member waits for a manager that does not answer as long as JobClient repeats the request.
shm::SharpReply SharpClients::still_leaving(int fd) {
    sharp::JobClient& client = *management_.job_client();
    const End& end = leaving_.at(fd);
    const auto answer = client.take(end.ticket);
    if (answer && answer->pending) {
        client.ask(end.ticket, manager_lid(), end.told);
    }
    if (client.asks(end.ticket)) {
        return {.pending = 1};
    }
    publish();  // The manager has changed the aggregation nodes.
    leaving_.erase(fd);
    return {};
}

void SharpClients::forget_leaving(int fd) {
    if (const auto found = leaving_.find(fd); found != leaving_.end()) {
        ends_.push_back(found->second.ticket);
        leaving_.erase(found);
    }
}

void SharpClients::end_remote(JobId id) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) {
        return;
    }
    if (found->second.phase != JobState::kFailed) {
        tell_end({.op = SharpJob::Op::kEndJob, .job = id});
    }
    drop_memory(id, Error::kFailed);
    management_.job_client()->forget(kAliveTicket + id);
    alive_due_ns_.erase(id);
    jobs_.erase(found);
}

}  // namespace softib::daemon
