// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The aggregation manager: gives jobs trees of aggregation nodes. It is told of the routed fabric
// (set_routes; manager_service.h asks the subnet administration for it), asks every switch what its
// node can do, plans a tree for each job on those routes (tree_planner.h), and writes it into the
// nodes by MADs of class 0x0B: queue pairs, trees, quotas, groups and streaming locks. Its caller
// moves its packets and tells it the time.
//
// What it is asked to do takes MADs, so it is done when the job's or group's state says so. A job
// fails as a whole: when a member is lost, when a cable or switch of its tree is, or when a node
// refuses. Its nodes are cleaned then, and others can have them. MADs of one job go out one by one;
// a node that does not answer kTriesMax times is given up.

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
#include "core/wire/sharp_an_info.h"

namespace softib::sharp {

using JobId = std::uint32_t;
using GroupId = std::uint32_t;

/// What a job may use at every node of its tree.
struct JobQuota {
    std::uint32_t osts = 0;           ///< Outstanding operations.
    std::uint32_t payload_bytes = 0;  ///< Of each.
    std::uint32_t groups = 0;
};

struct ManagerConfig {
    JobQuota given{.osts = 64, .payload_bytes = 1024, .groups = 8};  ///< Who asks for nothing.
    JobQuota most{.osts = 512, .payload_bytes = 1024, .groups = 64};
    std::uint32_t jobs_max = 256;
    std::uint32_t members_max = 4096;
    std::uint16_t llt_trees_max = 63;  ///< Low-latency trees: for datagrams.
    std::uint16_t sat_trees_max = 63;  ///< Streaming trees, of which one at a time has a port.
    /// Jobs have the numbers after this one. A manager that comes after another must not repeat
    /// its numbers while members of its jobs still have them.
    std::uint32_t job_before = 0;
    /// After the first try; after each further one it is twice as long.
    std::uint64_t answer_timeout_ns = 200'000'000;
    std::uint64_t am_key = 0;  ///< That nodes ask for from then on; 0: anybody may write into them.
    /// The switches whose nodes it may have; empty: all.
    std::function<bool(Guid)> may_use{};
};

struct JobRequest {
    std::uint64_t key = 0;  ///< The client's name of the job.
    std::uint32_t size = 0;
    JobQuota quota{};     ///< 0: the manager decides.
    bool streams = true;  ///< Wants a streaming tree; it gets one where all switches can stream.
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
    std::vector<std::uint32_t> members;  ///< By rank in the group: the member of the job.
    enum Lock : std::uint8_t { kUnlocked, kLocking, kLocked, kRefused };
    Lock lock = kUnlocked;
    std::vector<std::uint32_t> locked_nodes{};
    std::vector<bool> nodes{};  ///< By node of the plan: whether a member is below it.
    bool told = false;          ///< Of its failure.
};

struct JobState {
    enum Phase : std::uint8_t { kForming, kConfiguring, kActive, kFailed };
    Phase phase = kForming;
    Error error = Error::kNone;
    std::string reason;
    JobRequest request;
    std::vector<Member> members;
    std::uint16_t tree_id = 0;
    bool streams =
        false;  ///< Its tree is a streaming one (SAT), which takes datagrams too; else LLT.
    TreePlan plan;
    struct NodeQps {
        Qpn to_parent{};
        std::vector<Qpn> children;  ///< As in child_ends().
    };
    std::vector<NodeQps> qps{};  ///< By node of the plan.
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

    /// Where it is, for nodes and those who have jobs; not told: nobody needs to know.
    void set_lid(Lid lid) { lid_ = lid; }
    /// Somebody finds out what the fabric is like: jobs that start wait for it.
    void await_routes() { awaits_routes_ = true; }
    /// The fabric is like this now. Jobs whose tree it no longer has fail.
    void set_routes(routing::Graph graph, routing::Lfts lfts);
    /// Nobody could find out: jobs that wait for it fail.
    void lack_routes(const std::string& reason);

    std::expected<JobId, Error> create_job(const JobRequest& request);
    Error join(JobId job, std::uint32_t rank, Lid lid, Qpn qpn);
    /// All have joined: gives the job its tree.
    Error start(JobId job);
    std::expected<GroupId, Error> create_group(JobId job, std::uint32_t size);
    Error join_group(JobId job, GroupId group, std::uint32_t rank, std::uint32_t member);
    Error start_group(JobId job, GroupId group);
    /// Takes the streaming locks of all ports of the group, or none.
    Error lock_group(JobId job, GroupId group);
    void end_group(JobId job, GroupId group);
    void end_job(JobId job);
    /// A member is gone, or something else ends the job for all.
    void fail_job(JobId job, Error error, std::string reason);

    void handle(const mad::Packet& packet);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);
    std::optional<Event> poll_event();

    const std::map<JobId, JobState>& jobs() const { return jobs_; }
    const JobState* job(JobId id) const;
    /// Whether nodes still have something of a job, or of groups of it, that has ended. Nodes that
    /// do not answer are not waited for.
    bool is_cleaning(JobId job) const;
    /// No node has anything left to answer.
    bool is_idle() const;
    const ManagerConfig& config() const { return config_; }
    /// Aggregation nodes by GUID.
    const std::map<Guid, wire::SharpAnInfo>& nodes() const { return nodes_; }

  private:
    static constexpr std::uint32_t kTriesMax = 4;
    static constexpr std::uint64_t kCleanAgainNs = 1'000'000'000;
    static constexpr GroupId kNoGroup = UINT32_MAX;

    enum class Purpose : std::uint8_t {
        kDiscover,
        kDiscoverKey,  ///< Makes a node ours.
        kAllocate,
        kConfigure,
        kGroup,
        kLock,
        kClean
    };
    /// One MAD that is to be sent and answered before the next of its script.
    struct Errand {
        Purpose purpose{};
        JobId job = 0;
        GroupId group = kNoGroup;
        std::uint32_t node = 0;  ///< Of the plan.
        Guid guid{};             ///< kDiscover: of the switch.
        Lid lid{};
        wire::MadBytes mad{};
    };
    struct Script {
        std::deque<Errand> errands;
        std::uint32_t number = 0;       ///< Of the first's transaction, however often it is sent.
        std::uint32_t transaction = 0;  ///< The same while its answer is waited for; else 0.
        std::uint64_t sent_ns = 0;
        std::uint32_t tries = 0;

        std::uint64_t due_ns(std::uint64_t timeout_ns) const {
            return sent_ns + (timeout_ns << tries);
        }
    };
    /// Scripts are named by job; this is the one that asks switches what they are.
    static constexpr JobId kDiscovery = 0;

    struct ChildEnd {
        Lid lid{};
        Qpn qpn{};
        std::uint8_t port = 0;  ///< Of the parent.
        std::uint32_t member = UINT32_MAX;
        std::uint32_t node = UINT32_MAX;
    };
    /// The children of a node of the plan in the order of its ports. Queue pairs of nodes are known
    /// once they are allocated.
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
    std::set<Guid> asked_;
    bool awaits_routes_ = false;
    std::map<JobId, JobState> jobs_;
    std::map<JobId, Script> scripts_;
    struct TreeUse {
        std::uint16_t id = 0;
        bool streams = false;
    };
    std::map<JobId, TreeUse> trees_;       ///< Until they are cleaned.
    std::map<std::uint32_t, JobId> sent_;  ///< Script by transaction.
    std::set<JobId> trees_written_;        ///< Jobs whose last errands configure nodes.
    std::vector<JobId> waiting_;           ///< Jobs that wait for the routes or for all nodes.
    std::vector<Errand> unclean_;          ///< Of jobs that have ended; nodes did not answer.
    std::uint64_t clean_again_ns_ = 0;     ///< When those nodes are asked again.
    std::deque<Event> events_;
    JobId last_job_;
    GroupId last_group_ = 0;
    std::uint32_t last_transaction_ = 0;
};

}  // namespace softib::sharp
