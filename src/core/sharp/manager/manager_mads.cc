// SPDX-License-Identifier: BSD-2-Clause
// The aggregation manager's conversation with the nodes: scripts of MADs, one at a time.
#include <algorithm>
#include <utility>

#include "core/sharp/manager/errands.h"
#include "core/sharp/manager/manager.h"
#include "core/wire/mad/class_port_info.h"
#include "core/wire/sharp/sharp_am_key_info.h"
#include "core/wire/sharp/sharp_resource_cleanup.h"

namespace softib::sharp {

namespace {

Error error_of(std::uint16_t status) {
    switch (status) {
        case wire::sharp_status::kNoResource:
            return Error::kNoResource;
        case wire::sharp_status::kLocked:
            return Error::kLockFailed;
        default:
            return Error::kConnectTree;
    }
}

constexpr std::uint16_t kSilence = 0xFFFF;  ///< Stands for the status of a node that is silent.

}  // namespace

void Manager::handle(const mad::Packet& packet) {
    const auto header = wire::MadRepr::parse(wire::Mad<const std::uint8_t>(packet.mad));
    const auto found = sent_.find(static_cast<std::uint32_t>(header.transaction_id));
    if (header.mgmt_class != wire::MgmtClass::kSharp || header.method != wire::Method::kGetResp ||
        found == sent_.end()) {
        return;
    }
    const JobId id = found->second;
    sent_.erase(found);
    Script& script = scripts_.at(id);
    const Errand errand = std::move(script.errands.front());
    next(id);
    if (header.status == wire::mad_status::kOk) {
        answered(errand, packet);
    } else {
        refused(errand, header.status);
    }
    done(id);
}

/// Removes the first errand of a script, which is over.
void Manager::next(JobId script) {
    Script& at = scripts_.at(script);
    at.errands.pop_front();
    at.transaction = 0;
    at.tries = 0;
}

void Manager::answered(const Errand& errand, const mad::Packet& packet) {
    switch (errand.purpose) {
        case Purpose::kDiscover:
            nodes_[errand.guid] =
                wire::parse<wire::SharpAnInfo>(wire::Sharp<const std::uint8_t>(packet.mad).data());
            claim(errand);
            break;
        case Purpose::kAllocate:
            allocated(errand, packet);
            break;
        case Purpose::kLock:
            if (GroupState* const group = find(errand.job, errand.group)) {
                group->locked_nodes.push_back(errand.node);
            }
            break;
        case Purpose::kDiscoverKey:
        case Purpose::kConfigure:
        case Purpose::kGroup:
        case Purpose::kClean:
            break;
    }
}

/// Claims a node for this manager: gives it the key and the manager's LID, and removes what another
/// manager, or an earlier run of this one, has left in it.
void Manager::claim(const Errand& found) {
    const Errand errand{
        .purpose = Purpose::kDiscoverKey, .job = kDiscovery, .guid = found.guid, .lid = found.lid};
    if (config_.am_key != 0) {
        add(errand, wire::Method::kSet,
            static_cast<std::uint16_t>(wire::SharpAttribute::kAmKeyInfo),
            wire::SharpAmKeyInfo{.am_key = config_.am_key});
    }
    if (lid_ != kLidUnassigned) {
        wire::ClassPortInfo info;
        info.class_version = wire::kSharpClassVersion;
        info.trap_lid = lid_;
        info.trap_qp = mad::kQpnServices;
        info.trap_qkey = mad::kQKeyServices;
        add(errand, wire::Method::kSet,
            static_cast<std::uint16_t>(wire::SharpAttribute::kClassPortInfo), info);
    }
    wire::SharpResourceCleanup all;
    all.op = wire::SharpResourceCleanup::Op::kAll;
    add(errand, wire::Method::kSet,
        static_cast<std::uint16_t>(wire::SharpAttribute::kResourceCleanup), all);
}

/// Takes the queue pairs that a node has given; gives them back if the job is over.
void Manager::allocated(const Errand& errand, const mad::Packet& packet) {
    JobState* const job = find(errand.job);
    const auto got =
        wire::parse<wire::SharpQpAllocation>(wire::Sharp<const std::uint8_t>(packet.mad).data());
    if (job == nullptr || job->phase == JobState::kFailed) {
        for (std::size_t i = 0; i < got.count && i < got.qps.size(); ++i) {
            add({.purpose = Purpose::kClean,
                 .job = errand.job,
                 .node = errand.node,
                 .lid = errand.lid},
                wire::Method::kSet, static_cast<std::uint16_t>(wire::SharpAttribute::kQpAllocation),
                release_message(got.qps[i]));
        }
        return;
    }
    JobState::NodeQps& qps = job->qps[errand.node];
    for (std::size_t i = 0; i < got.count && i < got.qps.size(); ++i) {
        if (job->plan.nodes[errand.node].parent != TreePlan::kRoot && qps.to_parent == Qpn{}) {
            qps.to_parent = got.qps[i];
        } else {
            qps.children.push_back(got.qps[i]);
        }
    }
}

void Manager::refused(const Errand& errand, std::uint16_t status) {
    JobState* const job = find(errand.job);
    GroupState* const group = find(errand.job, errand.group);
    switch (errand.purpose) {
        case Purpose::kDiscover:  // No aggregation node; a silent switch may have one later.
            if (status == kSilence) {
                asked_.erase(errand.guid);
            }
            break;
        case Purpose::kDiscoverKey:  // The node belongs to another manager.
            nodes_.erase(errand.guid);
            break;
        case Purpose::kClean:
            if (status == kSilence && (job == nullptr || job->phase == JobState::kFailed)) {
                unclean_.push_back(errand);
            }
            break;
        case Purpose::kAllocate:
        case Purpose::kConfigure:
            if (job != nullptr) {
                fail_job(errand.job, error_of(status),
                         "the switch with LID " + std::to_string(errand.lid.value) +
                             (status == kSilence ? " does not answer"
                                                 : " has no room for it, or refuses"));
            }
            break;
        case Purpose::kGroup:
            if (group != nullptr) {
                group->phase = GroupState::kFailed;
                group->error = status == wire::sharp_status::kNoResource ? Error::kNoResource
                                                                         : Error::kGroupJoin;
            }
            break;
        case Purpose::kLock:
            if (group != nullptr) {
                group->lock = GroupState::kRefused;
                std::erase_if(scripts_.at(errand.job).errands, [&](const Errand& other) {
                    return other.purpose == Purpose::kLock && other.group == errand.group;
                });
                for (const std::uint32_t node : std::exchange(group->locked_nodes, {})) {
                    add({.purpose = Purpose::kClean,
                         .job = errand.job,
                         .node = node,
                         .lid = job->plan.nodes[node].lid},
                        wire::Method::kSet, kGroupJoinId,
                        lock_message(errand.job, job->tree_id, errand.group, false));
                }
            }
            break;
    }
}

/// Goes on after an errand of a script: if it was the last one of its kind, the job or group that
/// waited for it takes its next step.
void Manager::done(JobId script) {
    const auto left = [&](Purpose purpose, GroupId group) {
        const auto found = scripts_.find(script);
        return found != scripts_.end() &&
               std::ranges::any_of(found->second.errands, [&](const Errand& errand) {
                   return errand.purpose == purpose && errand.group == group;
               });
    };
    if (script == kDiscovery) {
        begin_waiting();
        return;
    }
    JobState* const job = find(script);
    if (job == nullptr || job->phase == JobState::kFailed) {
        if (const auto found = scripts_.find(script);
            found != scripts_.end() && found->second.errands.empty()) {
            scripts_.erase(found);
            if (!is_unclean(script)) {
                trees_.erase(script);
            }
        }
        return;
    }
    if (job->phase == JobState::kConfiguring && !left(Purpose::kAllocate, kNoGroup)) {
        if (!left(Purpose::kConfigure, kNoGroup)) {
            const bool written = trees_written_.erase(script) != 0;
            if (written) {
                job->phase = JobState::kActive;
                events_.push_back({Event::kJobActive, script});
            } else if (has_queue_pairs(*job)) {
                write_trees(script, *job);
            } else {
                fail_job(script, Error::kNoResource, "a switch gave too few queue pairs");
            }
        }
    }
    for (auto& [id, group] : job->groups) {
        if (group.phase == GroupState::kConfiguring && !left(Purpose::kGroup, id)) {
            group.phase = GroupState::kActive;
            events_.push_back({Event::kGroupActive, script, id});
        } else if (group.phase == GroupState::kFailed && !std::exchange(group.told, true)) {
            events_.push_back({Event::kGroupFailed, script, id});
        }
        if (group.lock == GroupState::kLocking && !left(Purpose::kLock, id)) {
            group.lock = GroupState::kLocked;
        }
    }
}

bool Manager::is_idle() const {
    return !awaits_routes_ && std::ranges::all_of(scripts_, [](const auto& script) {
        return script.second.errands.empty();
    });
}

std::optional<mad::Packet> Manager::poll_transmit(std::uint64_t now_ns) {
    for (auto& [id, script] : scripts_) {
        if (script.errands.empty() || script.transaction != 0) {
            continue;
        }
        // A repeated MAD has the same TransactionID, so that the node knows it has answered it.
        if (script.tries == 0) {
            last_transaction_ += last_transaction_ == UINT32_MAX ? 2U : 1U;
            script.number = last_transaction_;
        }
        script.transaction = script.number;
        script.sent_ns = now_ns;
        sent_[script.transaction] = id;
        mad::Packet packet;
        packet.mad = script.errands.front().mad;
        wire::Mad<std::uint8_t>(packet.mad).set_transaction_id(script.transaction);
        wire::Sharp<std::uint8_t>(packet.mad).set_am_key(config_.am_key);
        packet.dlid = script.errands.front().lid;
        packet.source = mad::kQpnServices;
        packet.destination = mad::kQpnServices;
        packet.qkey = mad::kQKeyServices;
        return packet;
    }
    return std::nullopt;
}

std::uint64_t Manager::next_timeout_ns() const {
    std::uint64_t next = UINT64_MAX;
    for (const auto& [id, script] : scripts_) {
        if (script.transaction != 0) {
            next = std::min(next, script.due_ns(config_.answer_timeout_ns));
        }
    }
    return unclean_.empty() ? next : std::min(next, clean_again_ns_);
}

void Manager::handle_timeout(std::uint64_t now_ns) {
    clean_again(now_ns);
    std::vector<JobId> silent;
    for (auto& [id, script] : scripts_) {
        if (script.transaction == 0 || script.due_ns(config_.answer_timeout_ns) > now_ns) {
            continue;
        }
        sent_.erase(script.transaction);
        script.transaction = 0;
        if (++script.tries >= kTriesMax) {
            silent.push_back(id);
        }
    }
    for (const JobId id : silent) {
        const Errand errand = scripts_.at(id).errands.front();
        next(id);
        refused(errand, kSilence);
        done(id);
    }
}

std::optional<Event> Manager::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    const Event event = events_.front();
    events_.pop_front();
    return event;
}

}  // namespace softib::sharp
