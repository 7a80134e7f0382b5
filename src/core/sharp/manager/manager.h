// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The aggregation manager, which gives jobs trees of aggregation nodes. It gets the routed fabric
// by set_routes() (manager_service.h reads it from the SA), asks every switch what its node can do,
// plans a tree for each job on those routes (tree_planner.h), and writes the tree into the nodes by
// MADs of class 0x0B: queue pairs, trees, quotas, groups and streaming locks. The caller moves the
// packets and passes the time in.
//
// Requests to the manager take several MADs; they are done when the state of the job or group says
// so. A job fails as a whole: when a member is lost, when a cable or switch of its tree is lost, or
// when a node refuses. The manager then cleans the job's nodes, so that other jobs can have them.
// MADs of one job go out one by one; the manager gives up a node that does not answer kTriesMax
// times.

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/mad/packet.h"
#include "core/routing/graph.h"
#include "core/routing/tables.h"
#include "core/sharp/error.h"
#include "core/sharp/manager/tree_planner.h"
#include "core/wire/sharp/sharp_an_info.h"

namespace softib::sharp {

using JobId = std::uint32_t;
using GroupId = std::uint32_t;

/// What a job may use at every node of its tree.
struct JobQuota {
    std::uint32_t osts = 0;           ///< Outstanding operations.
    std::uint32_t payload_bytes = 0;  ///< Payload of each operation.
    std::uint32_t groups = 0;
};

struct ManagerConfig {
    /// The quota of a job that asks for none.
    JobQuota given{.osts = 64, .payload_bytes = 1024, .groups = 8};
    JobQuota most{.osts = 512, .payload_bytes = 1024, .groups = 64};  ///< A job's largest quota.
    std::uint32_t jobs_max = 256;
    std::uint32_t members_max = 4096;  ///< Most members of one job.
    std::uint16_t llt_trees_max = 63;  ///< Most low-latency trees, which take datagrams only.
    std::uint16_t sat_trees_max = 63;  ///< Most streaming trees; one at a time can lock a port.
    /// Jobs get the numbers after this one. A manager that succeeds another must not use the same
    /// numbers while members of the other's jobs still have them.
    std::uint32_t job_before = 0;
    /// How long a node may take to answer the first try; each further wait is twice as long.
    std::uint64_t answer_timeout_ns = 200'000'000;
    /// The key that nodes demand once this manager has claimed them; 0 if any manager may write
    /// into them.
    std::uint64_t am_key = 0;
    /// Returns whether the manager may use the node of a switch; empty if it may use all.
    std::function<bool(Guid)> may_use{};
};

struct JobRequest {
    std::uint64_t key = 0;   ///< The client's name for the job.
    std::uint32_t size = 0;  ///< Number of members.
    JobQuota quota{};        ///< The manager decides about those that are 0.
    bool streams = true;     ///< Wants a streaming tree; it gets one where all switches can stream.
};

struct Member {
    Lid lid{};
    Qpn qpn{};
    bool joined = false;
};

struct GroupState {
    enum Phase : std::uint8_t { kForming, kConfiguring, kActive, kFailed };
    Phase phase = kForming;
    Error error = Error::kNone;
    std::vector<std::uint32_t> members;  ///< Numbers in the job, by rank in the group.
    enum Lock : std::uint8_t { kUnlocked, kLocking, kLocked, kRefused };
    Lock lock = kUnlocked;
    std::vector<std::uint32_t> locked_nodes{};  ///< Nodes of the plan that have granted the lock.
    std::vector<bool> nodes{};  ///< Whether a member is below a node, by node of the plan.
    bool told = false;          ///< Whether kGroupFailed has been reported.
};

struct JobState {
    enum Phase : std::uint8_t { kForming, kConfiguring, kActive, kFailed };
    Phase phase = kForming;
    Error error = Error::kNone;
    std::string reason;  ///< Why the job has failed.
    JobRequest request;
    std::vector<Member> members;
    std::uint16_t tree_id = 0;
    /// Whether its tree is a streaming one (SAT), which takes datagrams too; else it is an LLT.
    bool streams = false;
    TreePlan plan;
    struct NodeQps {
        Qpn to_parent{};
        std::vector<Qpn> children;  ///< In the order of child_ends().
    };
    std::vector<NodeQps> qps{};  ///< The nodes' queue pairs, by node of the plan.
    std::map<GroupId, GroupState> groups{};
};

struct Event {
    enum Kind : std::uint8_t { kJobActive, kJobFailed, kJobEnded, kGroupActive, kGroupFailed };
    Kind kind;
    JobId job;
    GroupId group = 0;
};

class Manager {
  public:
    explicit Manager(const ManagerConfig& config = {})
        : config_(config), last_job_(config.job_before) {}

    /// Sets the manager's own LID, which it writes into the nodes that it claims
    /// (ClassPortInfo:TrapLID). Without a LID it writes none.
    void set_lid(Lid lid) { lid_ = lid; }
    /// Makes jobs that start wait until set_routes() or lack_routes() is called.
    void await_routes() { awaits_routes_ = true; }
    /// Sets the routed fabric. Jobs whose tree is no longer in the fabric fail, those too whose
    /// tree the manager still configures.
    void set_routes(routing::Graph graph, routing::Lfts lfts);
    /// Says that the caller could not find out the routes: jobs that wait for them fail.
    void lack_routes(const std::string& reason);

    std::expected<JobId, Error> create_job(const JobRequest& request);
    /// Adds the member with this rank; `lid` and `qpn` are its end of the connection to the tree.
    Error join(JobId job, std::uint32_t rank, Lid lid, Qpn qpn);
    /// Begins to give the job its tree. All members must have joined.
    Error start(JobId job);
    std::expected<GroupId, Error> create_group(JobId job, std::uint32_t size);
    /// Adds a member of the job to a group; `rank` is its rank in the group.
    Error join_group(JobId job, GroupId group, std::uint32_t rank, std::uint32_t member);
    /// Begins to write the group into the nodes. All members must have joined.
    Error start_group(JobId job, GroupId group);
    /// Begins to take the streaming locks of all ports of the group; it gets all of them or none.
    Error lock_group(JobId job, GroupId group);
    void end_group(JobId job, GroupId group);
    void end_job(JobId job);
    /// Fails a job, because a member is gone or for another reason that concerns all members.
    void fail_job(JobId job, Error error, std::string reason);

    void handle(const mad::Packet& packet);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);
    std::optional<Event> poll_event();

    const std::map<JobId, JobState>& jobs() const { return jobs_; }
    const JobState* job(JobId id) const;
    /// Returns whether nodes must still be told that a job, or a group of it, has ended. Nodes that
    /// do not answer do not count.
    bool is_cleaning(JobId job) const;
    /// Returns whether the manager waits for no routes and has no MADs to send or to be answered.
    bool is_idle() const;
    const ManagerConfig& config() const { return config_; }
    /// Returns the aggregation nodes, by the GUID of their switch.
    const std::map<Guid, wire::SharpAnInfo>& nodes() const { return nodes_; }

  private:
    static constexpr std::uint32_t kTriesMax = 4;
    static constexpr std::uint64_t kCleanAgainNs = 1'000'000'000;
    static constexpr GroupId kNoGroup = UINT32_MAX;

    enum class Purpose : std::uint8_t {
        kDiscover,
        kDiscoverKey,  ///< Claims a node for this manager.
        kAllocate,
        kConfigure,
        kGroup,
        kLock,
        kClean
    };
    /// One MAD, which must be sent and answered before the next of its script.
    struct Errand {
        Purpose purpose{};
        JobId job = 0;
        GroupId group = kNoGroup;
        std::uint32_t node = 0;  ///< Number of the node in the plan.
        Guid guid{};             ///< GUID of the switch; kDiscover and kDiscoverKey only.
        Lid lid{};
        wire::MadBytes mad{};
    };
    /// The MADs of one job, which are sent one after the other.
    struct Script {
        std::deque<Errand> errands;
        std::uint32_t number = 0;       ///< TransactionID of the first errand, for all its tries.
        std::uint32_t transaction = 0;  ///< `number` while an answer is awaited; else 0.
        std::uint64_t sent_ns = 0;
        std::uint32_t tries = 0;

        std::uint64_t due_ns(std::uint64_t timeout_ns) const {
            return sent_ns + (timeout_ns << tries);
        }
    };
    /// The key in scripts_, instead of a job, of the script that asks switches what their nodes can
    /// do.
    static constexpr JobId kDiscovery = 0;

    /// A child of a node: a member or another node.
    struct ChildEnd {
        Lid lid{};
        Qpn qpn{};
        std::uint8_t port = 0;              ///< Port of the parent's switch.
        std::uint32_t member = UINT32_MAX;  ///< Number of the member, if the child is one.
        std::uint32_t node = UINT32_MAX;    ///< Number of the node in the plan, if it is one.
    };
    /// Returns the children of a node of the plan in the order of its ports. Queue pairs of nodes
    /// are known once they are allocated.
    static std::vector<ChildEnd> child_ends(const JobState& job, std::uint32_t node);

    static bool has_queue_pairs(const JobState& job);

    // manager_jobs.cc
    JobState* find(JobId job);
    GroupState* find(JobId job, GroupId group);
    bool still_stands(const JobState& job) const;
    std::uint32_t load(Guid guid, std::uint8_t port) const;
    void write_trees(JobId id, const JobState& job);
    void clean(JobId id, const JobState& job);
    std::optional<TreePlan> plan_for(const JobState& job, bool streams) const;
    std::optional<std::uint16_t> free_tree(bool streams) const;
    void begin(JobId id, JobState& job);
    bool is_ready() const;
    void begin_waiting();
    void discover();
    // manager_mads.cc
    void answered(const Errand& errand, const mad::Packet& packet);
    void refused(const Errand& errand, std::uint16_t status);
    void claim(const Errand& found);
    void allocated(const Errand& errand, const mad::Packet& packet);
    void done(JobId script);
    void next(JobId script);
    // manager_clean.cc
    bool is_unclean(JobId job) const;
    void clean_again(std::uint64_t now_ns);
    template <typename Attribute>
    void add(Errand errand, wire::Method method, std::uint16_t id, const Attribute& attribute);

    ManagerConfig config_;
    Lid lid_{};
    std::optional<routing::Graph> graph_;
    routing::Lfts lfts_;
    std::map<Guid, wire::SharpAnInfo> nodes_;
    std::set<Guid> asked_;  ///< Switches that have been asked what their node can do.
    bool awaits_routes_ = false;
    std::map<JobId, JobState> jobs_;
    std::map<JobId, Script> scripts_;
    struct TreeUse {
        std::uint16_t id = 0;
        bool streams = false;
    };
    std::map<JobId, TreeUse> trees_;       ///< Trees of jobs, until their nodes are clean.
    std::map<std::uint32_t, JobId> sent_;  ///< Scripts that await an answer, by TransactionID.
    std::set<JobId> trees_written_;        ///< Jobs whose kConfigure errands have been lined up.
    std::vector<JobId> waiting_;           ///< Jobs that wait for the routes or for all nodes.
    std::vector<Errand> unclean_;          ///< Errands of ended jobs that nodes have not answered.
    std::uint64_t clean_again_ns_ = 0;  ///< When the manager sends the errands in unclean_ again.
    std::deque<Event> events_;
    JobId last_job_;
    GroupId last_group_ = 0;
    std::uint32_t last_transaction_ = 0;
};

}  // namespace softib::sharp
