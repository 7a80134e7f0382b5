// SPDX-License-Identifier: BSD-2-Clause
// The aggregation manager's jobs and groups: what each may have, and what the nodes must be told.
#include <algorithm>
#include <utility>

#include "core/sharp/manager/errands.h"
#include "core/sharp/manager/manager.h"
#include "core/wire/sharp/sharp_qp_allocation.h"
#include "core/wire/sharp/sharp_qpc_config.h"
#include "core/wire/sharp/sharp_quota_config.h"
#include "core/wire/sharp/sharp_resource_cleanup.h"
#include "core/wire/sharp/sharp_tree_config.h"

namespace softib::sharp {

namespace {

using wire::SharpAttribute;

constexpr std::uint16_t id_of(SharpAttribute attribute) {
    return static_cast<std::uint16_t>(attribute);
}

constexpr std::uint8_t kTreeMtu = 5;          ///< 4096 bytes.
constexpr std::uint8_t kTreeAckTimeout = 16;  ///< 268 ms.

/// Returns the quota that is wanted, or the default if none is.
std::uint32_t or_given(std::uint32_t wanted, std::uint32_t given) {
    return wanted == 0 ? given : wanted;
}

}  // namespace

const JobState* Manager::job(JobId id) const {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second;
}

JobState* Manager::find(JobId job) {
    const auto found = jobs_.find(job);
    return found == jobs_.end() ? nullptr : &found->second;
}

GroupState* Manager::find(JobId job, GroupId group) {
    JobState* const at = find(job);
    if (at == nullptr) {
        return nullptr;
    }
    const auto found = at->groups.find(group);
    return found == at->groups.end() ? nullptr : &found->second;
}

void Manager::set_routes(routing::Graph graph, routing::Lfts lfts) {
    graph_ = std::move(graph);
    lfts_ = std::move(lfts);
    awaits_routes_ = false;
    discover();
    for (auto& [id, job] : jobs_) {
        const bool has_tree = job.phase == JobState::kConfiguring || job.phase == JobState::kActive;
        if (has_tree && !still_stands(job)) {
            fail_job(id, Error::kConnectTree, "a cable or switch of its tree is gone");
        }
    }
    begin_waiting();
}

void Manager::lack_routes(const std::string& reason) {
    awaits_routes_ = false;
    for (const JobId id : std::exchange(waiting_, {})) {
        fail_job(id, Error::kNoTree, reason);
    }
}

/// Asks the nodes that the manager does not know. A node that was away is asked again when it is
/// back: it may be another one then, or still have trees that could not be taken from it.
void Manager::discover() {
    std::set<Guid> present;
    for (const routing::Target& target : graph_->targets()) {
        const Guid guid = graph_->guid(target.at);
        if (!target.is_switch() || (config_.may_use && !config_.may_use(guid))) {
            continue;
        }
        present.insert(guid);
        if (!nodes_.contains(guid) && asked_.insert(guid).second) {
            add({.purpose = Purpose::kDiscover, .job = kDiscovery, .guid = guid, .lid = target.lid},
                wire::Method::kGet, id_of(SharpAttribute::kAnInfo), wire::SharpAnInfo{});
        }
    }
    std::erase_if(nodes_, [&](const auto& node) { return !present.contains(node.first); });
    std::erase_if(asked_, [&](Guid guid) { return !present.contains(guid); });
}

/// Returns whether all cables of a job's tree are there, and its members at the same ports.
bool Manager::still_stands(const JobState& job) const {
    std::map<Guid, std::uint32_t> index;
    for (std::uint32_t sw = 0; sw < graph_->switch_count(); ++sw) {
        index[graph_->guid(sw)] = sw;
    }
    for (const TreePlan::Node& node : job.plan.nodes) {
        const auto at = index.find(node.guid);
        if (at == index.end()) {
            return false;
        }
        if (node.parent != TreePlan::kRoot) {
            const std::uint32_t link = graph_->link_at(at->second, node.port_to_parent);
            if (link == routing::kNone ||
                graph_->guid(graph_->links()[link].peer) != job.plan.nodes[node.parent].guid) {
                return false;
            }
        }
        for (const TreePlan::MemberPort& member : node.members) {
            const std::uint32_t target = graph_->target_of(job.members[member.member].lid);
            if (target == routing::kNone || graph_->targets()[target].at != at->second ||
                graph_->targets()[target].port != member.port) {
                return false;
            }
        }
    }
    return true;
}

std::expected<JobId, Error> Manager::create_job(const JobRequest& request) {
    const JobQuota& most = config_.most;
    if (request.size == 0 || request.size > config_.members_max) {
        return std::unexpected(Error::kInvalid);
    }
    if (request.quota.osts > most.osts || request.quota.payload_bytes > most.payload_bytes ||
        request.quota.groups > most.groups) {
        return std::unexpected(Error::kQuota);
    }
    if (jobs_.size() >= config_.jobs_max) {
        return std::unexpected(Error::kNoResource);
    }
    do {  // Numbers have 24 bits and wrap; a script may still clean up after an earlier job.
        last_job_ = last_job_ >= 0xFFFFFE ? 1 : last_job_ + 1;
    } while (jobs_.contains(last_job_) || scripts_.contains(last_job_) ||
             trees_.contains(last_job_));
    const JobId id = last_job_;
    JobState& job = jobs_[id];
    job.request = request;
    job.request.quota = {or_given(request.quota.osts, config_.given.osts),
                         or_given(request.quota.payload_bytes, config_.given.payload_bytes),
                         or_given(request.quota.groups, config_.given.groups)};
    job.members.resize(request.size);
    return id;
}

Error Manager::join(JobId id, std::uint32_t rank, Lid lid, Qpn qpn) {
    JobState* const job = find(id);
    if (job == nullptr || job->phase != JobState::kForming || rank >= job->members.size() ||
        job->members[rank].joined) {
        return Error::kInvalid;
    }
    job->members[rank] = {lid, qpn, true};
    return Error::kNone;
}

Error Manager::start(JobId id) {
    JobState* const job = find(id);
    if (job == nullptr || job->phase != JobState::kForming ||
        !std::ranges::all_of(job->members, &Member::joined)) {
        return Error::kInvalid;
    }
    job->phase = JobState::kConfiguring;
    waiting_.push_back(id);
    begin_waiting();
    return Error::kNone;
}

/// Returns whether the routes and all nodes are known.
bool Manager::is_ready() const {
    const auto discovery = scripts_.find(kDiscovery);
    return !awaits_routes_ && (discovery == scripts_.end() || discovery->second.errands.empty());
}

/// Begins the jobs that wait, if the routes and all nodes are known.
void Manager::begin_waiting() {
    if (!is_ready()) {
        return;
    }
    for (const JobId id : std::exchange(waiting_, {})) {
        JobState* const job = find(id);
        if (job != nullptr && job->phase == JobState::kConfiguring) {
            begin(id, *job);
        }
    }
}

/// Returns how many trees have the cable behind this port on the way to a parent.
std::uint32_t Manager::load(Guid guid, std::uint8_t port) const {
    std::uint32_t trees = 0;
    for (const auto& [id, job] : jobs_) {
        for (const TreePlan::Node& node : job.plan.nodes) {
            trees +=
                node.guid == guid && node.parent != TreePlan::kRoot && node.port_to_parent == port
                    ? 1U
                    : 0U;
        }
    }
    return trees;
}

/// Returns a plan for the job's tree; std::nullopt if there is none. All switches of a streaming
/// tree must be able to stream.
std::optional<TreePlan> Manager::plan_for(const JobState& job, bool streams) const {
    std::vector<Lid> lids;
    for (const Member& member : job.members) {
        lids.push_back(member.lid);
    }
    if (!graph_) {
        return std::nullopt;
    }
    return plan_tree({.graph = *graph_,
                      .lfts = lfts_,
                      .members = lids,
                      .is_capable =
                          [&](Guid guid) {
                              const auto node = nodes_.find(guid);
                              return node != nodes_.end() &&
                                     (!streams || node->second.streaming_supported);
                          },
                      .load = [&](Guid guid, std::uint8_t port) { return load(guid, port); }});
}

/// Returns the lowest number that no tree has; std::nullopt if all trees of this kind are in use.
std::optional<std::uint16_t> Manager::free_tree(bool streams) const {
    std::set<std::uint16_t> used;
    std::size_t of_kind = 0;
    for (const auto& [job, tree] : trees_) {
        used.insert(tree.id);
        of_kind += tree.streams == streams ? 1U : 0U;
    }
    if (of_kind >= (streams ? config_.sat_trees_max : config_.llt_trees_max)) {
        return std::nullopt;
    }
    std::uint16_t id = 0;
    while (used.contains(id)) {
        ++id;
    }
    return id;
}

/// Plans the tree and asks its nodes for queue pairs.
void Manager::begin(JobId id, JobState& job) {
    std::optional<TreePlan> plan;
    if (job.request.streams) {
        plan = plan_for(job, true);
        job.streams = plan.has_value();
    }
    if (!plan) {
        plan = plan_for(job, false);
    }
    if (!plan) {
        fail_job(id, Error::kNoTree, "no switch that aggregates is reached by all members");
        return;
    }
    const std::optional<std::uint16_t> tree_id = free_tree(job.streams);
    if (!tree_id) {
        fail_job(
            id, Error::kNoResource,
            job.streams ? "all streaming trees are in use" : "all low-latency trees are in use");
        return;
    }
    job.plan = std::move(*plan);
    job.tree_id = *tree_id;
    trees_[id] = {*tree_id, job.streams};
    job.qps.resize(job.plan.nodes.size());
    for (std::uint32_t node = 0; node < job.plan.nodes.size(); ++node) {
        const bool is_root = job.plan.nodes[node].parent == TreePlan::kRoot;
        std::size_t wanted = child_ends(job, node).size() + (is_root ? 0 : 1);
        while (wanted != 0) {
            wire::SharpQpAllocation message;
            message.op = wire::SharpQpAllocation::Op::kAllocate;
            message.count =
                static_cast<std::uint8_t>(std::min(wanted, wire::SharpQpAllocation::kQpsMax));
            wanted -= message.count;
            add({.purpose = Purpose::kAllocate,
                 .job = id,
                 .node = node,
                 .lid = job.plan.nodes[node].lid},
                wire::Method::kSet, id_of(SharpAttribute::kQpAllocation), message);
        }
    }
}

std::vector<Manager::ChildEnd> Manager::child_ends(const JobState& job, std::uint32_t node) {
    std::vector<ChildEnd> ends;
    for (const TreePlan::MemberPort& member : job.plan.nodes[node].members) {
        ends.push_back({.lid = job.members[member.member].lid,
                        .qpn = job.members[member.member].qpn,
                        .port = member.port,
                        .member = member.member});
    }
    for (std::uint32_t other = 0; other < job.plan.nodes.size(); ++other) {
        if (job.plan.nodes[other].parent == node) {
            ends.push_back({.lid = job.plan.nodes[other].lid,
                            .qpn = job.qps[other].to_parent,
                            .port = job.plan.nodes[other].port_at_parent,
                            .node = other});
        }
    }
    std::ranges::stable_sort(ends, {}, &ChildEnd::port);
    return ends;
}

/// Returns whether the nodes have given as many queue pairs as the plan needs.
bool Manager::has_queue_pairs(const JobState& job) {
    for (std::uint32_t node = 0; node < job.plan.nodes.size(); ++node) {
        const bool is_root = job.plan.nodes[node].parent == TreePlan::kRoot;
        if (job.qps[node].children.size() != child_ends(job, node).size() ||
            (job.qps[node].to_parent == Qpn{}) != is_root) {
            return false;
        }
    }
    return true;
}

/// Lines up the MADs that connect the queue pairs and write the tree and its quota into each node.
/// All queue pairs must be known.
void Manager::write_trees(JobId id, const JobState& job) {
    trees_written_.insert(id);
    for (std::uint32_t number = 0; number < job.plan.nodes.size(); ++number) {
        const TreePlan::Node& node = job.plan.nodes[number];
        const JobState::NodeQps& qps = job.qps[number];
        const Errand errand{
            .purpose = Purpose::kConfigure, .job = id, .node = number, .lid = node.lid};
        const auto connect = [&](Qpn qpn, Lid rlid, Qpn rqpn, std::uint8_t port) {
            wire::SharpQpcConfig context;
            context.qpn = qpn;
            context.state = wire::SharpQpcConfig::State::kActive;
            context.rlid = rlid;
            context.rqpn = rqpn;
            context.port = port;
            context.pkey = kPKeyDefaultFull;
            // A node may give the same QPNs again. PSNs differ by job, so that an end that still
            // has the connection of an earlier job sees that this is a new one.
            context.sq_psn = Psn{id};
            context.rq_psn = Psn{id};
            context.mtu = kTreeMtu;
            context.ack_timeout = kTreeAckTimeout;
            context.retry = 7;
            context.rnr_retry = 7;
            add(errand, wire::Method::kSet, id_of(SharpAttribute::kQpcConfig), context);
        };
        const std::vector<ChildEnd> ends = child_ends(job, number);
        for (std::size_t i = 0; i < ends.size(); ++i) {
            connect(qps.children[i], ends[i].lid, ends[i].qpn, ends[i].port);
        }
        wire::SharpTreeConfig tree;
        tree.tree_id = job.tree_id;
        tree.small_data_tree_id = job.tree_id;  // A streaming tree takes datagrams itself.
        tree.state = wire::SharpTreeConfig::State::kEnabled;
        tree.op = wire::SharpTreeConfig::Op::kWriteTree;
        tree.mode =
            job.streams ? wire::SharpTreeConfig::Mode::kSat : wire::SharpTreeConfig::Mode::kLlt;
        tree.parent_qpn = qps.to_parent;
        if (node.parent != TreePlan::kRoot) {
            const std::vector<ChildEnd> siblings = child_ends(job, node.parent);
            const auto mine = std::ranges::find(siblings, number, &ChildEnd::node);
            const auto place = static_cast<std::size_t>(mine - siblings.begin());
            connect(qps.to_parent, job.plan.nodes[node.parent].lid,
                    job.qps[node.parent].children[place], node.port_to_parent);
        }
        for (std::size_t i = 0; i < qps.children.size();) {
            tree.num_of_children = 0;
            while (i < qps.children.size() && tree.num_of_children < tree.children.size()) {
                tree.children[tree.num_of_children++] = qps.children[i++];
            }
            add(errand, wire::Method::kSet, id_of(SharpAttribute::kTreeConfig), tree);
            tree.op = wire::SharpTreeConfig::Op::kAddChildren;
        }
        wire::SharpQuotaConfig quota;
        quota.job_id = id;
        quota.op = wire::SharpQuotaConfig::Op::kSet;
        quota.root = node.parent == TreePlan::kRoot;
        quota.tree_id = job.tree_id;
        quota.reproducible = true;
        quota.max_osts = job.request.quota.osts;
        quota.max_buffers = job.request.quota.osts;
        quota.max_groups = job.request.quota.groups;
        quota.max_qps = static_cast<std::uint32_t>(qps.children.size() + 1);
        add(errand, wire::Method::kSet, id_of(SharpAttribute::kQuotaConfig), quota);
    }
}

std::expected<GroupId, Error> Manager::create_group(JobId id, std::uint32_t size) {
    JobState* const job = find(id);
    if (job == nullptr || job->phase != JobState::kActive || size == 0 ||
        size > job->members.size()) {
        return std::unexpected(Error::kGroupAlloc);
    }
    if (job->groups.size() >= job->request.quota.groups) {
        return std::unexpected(Error::kQuota);
    }
    last_group_ = last_group_ >= 0xFFFFFE ? 1 : last_group_ + 1;
    job->groups[last_group_].members.assign(size, UINT32_MAX);
    return last_group_;
}

Error Manager::join_group(JobId id, GroupId group_id, std::uint32_t rank, std::uint32_t member) {
    GroupState* const group = find(id, group_id);
    if (group == nullptr) {
        return Error::kGroupId;
    }
    if (group->phase != GroupState::kForming || rank >= group->members.size() ||
        member >= find(id)->members.size() || group->members[rank] != UINT32_MAX ||
        std::ranges::find(group->members, member) != group->members.end()) {
        return Error::kGroupJoin;
    }
    group->members[rank] = member;
    return Error::kNone;
}

Error Manager::start_group(JobId id, GroupId group_id) {
    JobState* const job = find(id);
    GroupState* const group = find(id, group_id);
    if (group == nullptr) {
        return Error::kGroupId;
    }
    if (job->phase != JobState::kActive || group->phase != GroupState::kForming ||
        std::ranges::find(group->members, UINT32_MAX) != group->members.end()) {
        return Error::kGroupJoin;
    }
    // A child takes part if a member is below it. Children come after their parents in the plan.
    std::vector<bool> takes_part(job->plan.nodes.size(), false);
    group->phase = GroupState::kConfiguring;
    for (std::size_t back = job->plan.nodes.size(); back-- > 0;) {
        const auto number = static_cast<std::uint32_t>(back);
        const std::vector<ChildEnd> ends = child_ends(*job, number);
        for (std::size_t i = 0; i < ends.size(); ++i) {
            const bool is_in =
                ends[i].node != UINT32_MAX
                    ? takes_part[ends[i].node]
                    : std::ranges::find(group->members, ends[i].member) != group->members.end();
            if (!is_in) {
                continue;
            }
            takes_part[number] = true;
            wire::SharpGroupJoin message;
            message.tree_id = job->tree_id;
            message.op = wire::SharpGroupJoin::Op::kJoin;
            message.group_id = group_id;
            message.qpn = job->qps[number].children[i];
            message.job_id = id;
            add({.purpose = Purpose::kGroup,
                 .job = id,
                 .group = group_id,
                 .node = number,
                 .lid = job->plan.nodes[number].lid},
                wire::Method::kSet, kGroupJoinId, message);
        }
    }
    group->nodes = takes_part;
    return Error::kNone;
}

Error Manager::lock_group(JobId id, GroupId group_id) {
    JobState* const job = find(id);
    GroupState* const group = find(id, group_id);
    if (group == nullptr) {
        return Error::kGroupId;
    }
    if (job->phase != JobState::kActive || group->phase != GroupState::kActive || !job->streams) {
        return Error::kLockDenied;
    }
    if (group->lock == GroupState::kLocked || group->lock == GroupState::kLocking) {
        return Error::kNone;
    }
    group->lock = GroupState::kLocking;
    for (std::uint32_t number = 0; number < job->plan.nodes.size(); ++number) {
        if (group->nodes[number]) {
            add({.purpose = Purpose::kLock,
                 .job = id,
                 .group = group_id,
                 .node = number,
                 .lid = job->plan.nodes[number].lid},
                wire::Method::kSet, kGroupJoinId, lock_message(id, job->tree_id, group_id, true));
        }
    }
    return Error::kNone;
}

void Manager::end_group(JobId id, GroupId group_id) {
    JobState* const job = find(id);
    GroupState* const group = find(id, group_id);
    if (group == nullptr) {
        return;
    }
    for (std::uint32_t number = 0; number < job->plan.nodes.size(); ++number) {
        if (number >= group->nodes.size() || !group->nodes[number]) {
            continue;
        }
        for (const Qpn child : job->qps[number].children) {
            wire::SharpGroupJoin message;
            message.tree_id = job->tree_id;
            message.op = wire::SharpGroupJoin::Op::kLeave;
            message.group_id = group_id;
            message.qpn = child;
            message.job_id = id;
            add({.purpose = Purpose::kClean,
                 .job = id,
                 .node = number,
                 .lid = job->plan.nodes[number].lid},
                wire::Method::kSet, kGroupJoinId, message);
        }
    }
    job->groups.erase(group_id);
}

/// Lines up the MADs that take back everything that the job has in its nodes.
void Manager::clean(JobId id, const JobState& job) {
    auto& errands = scripts_[id].errands;
    // The MAD that is on its way must be answered first; the rest is not needed any more. The
    // answer may bring queue pairs, which the manager then gives back.
    if (scripts_[id].transaction != 0) {
        errands.resize(1);
        if (errands.front().purpose != Purpose::kAllocate) {
            errands.front().purpose = Purpose::kClean;
        }
    } else {
        errands.clear();
    }
    for (std::uint32_t number = 0; number < job.plan.nodes.size(); ++number) {
        const Errand errand{.purpose = Purpose::kClean,
                            .job = id,
                            .node = number,
                            .lid = job.plan.nodes[number].lid};
        wire::SharpResourceCleanup message;
        message.job_id = id;
        message.tree_id = job.tree_id;
        message.op = wire::SharpResourceCleanup::Op::kTree;
        add(errand, wire::Method::kSet, id_of(SharpAttribute::kResourceCleanup), message);
        // While the job is configuring, its queue pairs may be in no tree yet: cleaning up the tree
        // would not release them.
        std::vector<Qpn> qps = job.qps[number].children;
        if (job.qps[number].to_parent != Qpn{}) {
            qps.push_back(job.qps[number].to_parent);
        }
        for (const Qpn qpn : job.phase == JobState::kConfiguring ? qps : std::vector<Qpn>{}) {
            add(errand, wire::Method::kSet, id_of(SharpAttribute::kQpAllocation),
                release_message(qpn));
        }
    }
    trees_written_.erase(id);
    if (scripts_[id].errands.empty()) {
        scripts_.erase(id);
        trees_.erase(id);
    }
}

void Manager::end_job(JobId id) {
    JobState* const job = find(id);
    if (job == nullptr) {
        return;
    }
    if (job->phase != JobState::kFailed) {
        clean(id, *job);
    }
    jobs_.erase(id);
    events_.push_back({Event::kJobEnded, id});
}

void Manager::fail_job(JobId id, Error error, std::string reason) {
    JobState* const job = find(id);
    if (job == nullptr || job->phase == JobState::kFailed) {
        return;
    }
    clean(id, *job);
    job->phase = JobState::kFailed;
    job->error = error;
    job->reason = std::move(reason);
    job->groups.clear();
    events_.push_back({Event::kJobFailed, id});
}

}  // namespace softib::sharp
