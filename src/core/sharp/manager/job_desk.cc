// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/manager/job_desk.h"

#include <algorithm>

namespace softib::sharp {

namespace {

using wire::SharpJob;

constexpr auto kJobAttribute = static_cast<std::uint16_t>(wire::SharpAttribute::kJob);

SharpJob with_error(SharpJob answer, Error error) {
    answer.pending = false;
    answer.error = static_cast<std::uint8_t>(-static_cast<std::int32_t>(error));
    return answer;
}

SharpJob still_pending(SharpJob answer) {
    answer.pending = true;
    return answer;
}

}  // namespace

bool JobDesk::takes(const wire::MadBytes& mad) {
    const wire::Mad<const std::uint8_t> header(mad);
    return header.mgmt_class() == wire::MgmtClass::kSharp &&
           header.method() == wire::Method::kSet && header.attribute_id() == kJobAttribute;
}

void JobDesk::handle(const mad::RmppPeer& from, const wire::MadBytes& request,
                     std::uint64_t now_ns) {
    if (replies_.size() >= kRepliesMax) {
        return;  // The client will send it again.
    }
    const auto before = std::ranges::find_if(
        done_, [&](const Done& done) { return done.from == from.lid && done.request == request; });
    wire::MadBytes mad = request;
    if (before != done_.end()) {
        mad = before->answer;
    } else {
        const auto data = wire::Sharp<std::uint8_t>(mad).data();
        const SharpJob told =
            execute(from.lid, wire::parse<SharpJob>(data.first<SharpJob::kBytes>()), now_ns);
        std::ranges::fill(data, std::uint8_t{0});
        wire::emit(told, std::span<std::uint8_t>(data));
        wire::Mad<std::uint8_t>(mad).set_method(wire::Method::kGetResp);
        if (!told.pending) {
            done_.push_back({from.lid, request, mad});
            if (done_.size() > kDoneMax) {
                done_.pop_front();
            }
        }
    }
    replies_.push_back(mad::to_packet({from, mad}));
}

SharpJob JobDesk::execute(Lid from, const SharpJob& asked, std::uint64_t now_ns) {
    if (asked.op == SharpJob::Op::kCreateJob) {
        return create_job(from, asked, now_ns);
    }
    Manager& manager = service_.manager();
    const auto owned = jobs_.find(asked.job);
    const JobState* const job = manager.job(asked.job);
    if (owned == jobs_.end() || owned->second.owner != from || job == nullptr) {
        return asked.op == SharpJob::Op::kEndJob ? ended(asked) : with_error(asked, Error::kFailed);
    }
    owned->second.heard_ns = now_ns;
    switch (asked.op) {
        case SharpJob::Op::kKeepAlive:
            return with_error(asked, job->error);
        case SharpJob::Op::kJoinJob:
            return with_error(asked, manager.join(asked.job, asked.rank, asked.lid, asked.qpn));
        case SharpJob::Op::kStartJob:
            return start_job(asked, now_ns);
        case SharpJob::Op::kCreateGroup: {
            const auto group = manager.create_group(asked.job, asked.size);
            SharpJob told = with_error(asked, group ? Error::kNone : group.error());
            told.group = group.value_or(0);
            return told;
        }
        case SharpJob::Op::kJoinGroup:
            return with_error(asked,
                              manager.join_group(asked.job, asked.group, asked.rank, asked.member));
        case SharpJob::Op::kStartGroup:
            return start_group(asked);
        case SharpJob::Op::kLockGroup:
            return lock_group(asked);
        case SharpJob::Op::kEndGroup:
            manager.end_group(asked.job, asked.group);
            return ended(asked);
        case SharpJob::Op::kEndJob:
            jobs_.erase(owned);
            manager.end_job(asked.job);
            return ended(asked);
        default:
            return with_error(asked, Error::kInvalid);
    }
}

/// Returns the answer to an end of a job or group: pending until the nodes are clean, so that other
/// jobs can have what it had.
SharpJob JobDesk::ended(const SharpJob& asked) const {
    return service_.manager().is_cleaning(asked.job) ? still_pending(asked)
                                                     : with_error(asked, Error::kNone);
}

SharpJob JobDesk::create_job(Lid from, const SharpJob& asked, std::uint64_t now_ns) {
    const auto job =
        service_.manager().create_job({.key = asked.key,
                                       .size = asked.size,
                                       .quota = {asked.osts, asked.payload_bytes, asked.groups},
                                       .streams = asked.streams});
    if (!job) {
        return with_error(asked, job.error());
    }
    jobs_[*job] = {from, now_ns};
    SharpJob told = with_error(asked, Error::kNone);
    told.job = *job;
    return told;
}

SharpJob JobDesk::start_job(const SharpJob& asked, std::uint64_t now_ns) {
    Manager& manager = service_.manager();
    if (manager.job(asked.job)->phase == JobState::kForming) {
        service_.freshen(now_ns);
        if (const Error error = manager.start(asked.job); error != Error::kNone) {
            return with_error(asked, error);
        }
    }
    const JobState& job = *manager.job(asked.job);
    if (job.phase == JobState::kFailed) {
        return with_error(asked, job.error);
    }
    if (job.phase != JobState::kActive) {
        return still_pending(asked);
    }
    SharpJob told = with_error(asked, Error::kNone);
    told.streams = job.streams;
    told.tree = job.tree_id;
    told.root = job.plan.nodes[0].lid;
    told.depth = static_cast<std::uint8_t>(job.plan.depth);
    told.osts = job.request.quota.osts;
    told.payload_bytes = job.request.quota.payload_bytes;
    told.groups = job.request.quota.groups;
    return told;
}

const GroupState* JobDesk::group_of(const SharpJob& asked) const {
    const JobState* const job = service_.manager().job(asked.job);
    const auto found = job->groups.find(asked.group);
    return found == job->groups.end() ? nullptr : &found->second;
}

SharpJob JobDesk::start_group(const SharpJob& asked) {
    const GroupState* group = group_of(asked);
    if (group != nullptr && group->phase == GroupState::kForming) {
        if (const Error error = service_.manager().start_group(asked.job, asked.group);
            error != Error::kNone) {
            return with_error(asked, error);
        }
    }
    if (group == nullptr) {
        return with_error(asked, Error::kGroupId);
    }
    if (group->phase == GroupState::kFailed) {
        return with_error(asked, group->error);
    }
    return group->phase == GroupState::kActive ? with_error(asked, Error::kNone)
                                               : still_pending(asked);
}

SharpJob JobDesk::lock_group(const SharpJob& asked) {
    const GroupState* const group = group_of(asked);
    if (group == nullptr) {
        return with_error(asked, Error::kGroupId);
    }
    if (!asked.pending) {  // With `pending`, the client asks for the outcome of an earlier request.
        if (const Error error = service_.manager().lock_group(asked.job, asked.group);
            error != Error::kNone) {
            return with_error(asked, error);
        }
    }
    switch (group->lock) {
        case GroupState::kLocked:
            return with_error(asked, Error::kNone);
        case GroupState::kLocking:
            return still_pending(asked);
        default:
            return with_error(asked, Error::kLockFailed);
    }
}

void JobDesk::handle_timeout(std::uint64_t now_ns) {
    for (auto at = jobs_.begin(); at != jobs_.end();) {
        if (at->second.heard_ns + kKeepAliveNs <= now_ns) {
            service_.manager().end_job(at->first);
            at = jobs_.erase(at);
        } else {
            ++at;
        }
    }
}

std::uint64_t JobDesk::next_timeout_ns() const {
    std::uint64_t next = UINT64_MAX;
    for (const auto& [id, job] : jobs_) {
        next = std::min(next, job.heard_ns + kKeepAliveNs);
    }
    return next;
}

std::optional<mad::Packet> JobDesk::poll_transmit() {
    if (replies_.empty()) {
        return std::nullopt;
    }
    const mad::Packet reply = replies_.front();
    replies_.pop_front();
    return reply;
}

}  // namespace softib::sharp
