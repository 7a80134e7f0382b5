// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plays jobs on a cluster. Every operation begins when those that it depends on have ended (or
// started, with Waits::kForStart). Messages and the traffic of collective operations share one
// model of the fabric.
//
//   compute     Takes its time. Computations of one lane of a rank run one after the other.
//   send, recv  Match by rank and tag in the order in which they begin. A message leaves when its
//               send begins; with PlayOptions::rendezvous, a long message leaves when its receive
//               has begun too. The send of a short message ends at once, that of a long one when
//               the message is acknowledged. Messages from one rank to another leave one after
//               the other, as those of one queue pair do. Messages to different ranks share the
//               NIC, as an HCA takes turns among queue pairs, or leave one after the other too
//               (PlayOptions::nic_in_order), as in the LogGP models of GOAL's own simulators.
//   collective  Begins when all members of its group have begun it, and ends for all at once. The
//               n-th operations of all members in a communicator belong together, and a rank has
//               one operation of a communicator at a time, as in NCCL. It takes NCCL's software
//               time plus the longer of its times in the fabric and on NVLink, as in
//               collective_model.h.
//
// Messages between GPUs of one NVLink domain go over NVLink; a GPU sends them one after the other.

#include <cstdint>
#include <deque>
#include <expected>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "net/model.h"
#include "plan/trace/group_work.h"
#include "plan/trace/job.h"

namespace softib::plan::trace {

struct PlacedJob {
    Job job = {};
    std::vector<std::uint32_t> gpus = {};  ///< The GPU of each rank.
};

struct PlayOptions {
    std::uint64_t eager_bytes = 65536;  ///< Longest message whose send ends at once.
    bool rendezvous = false;            ///< Whether longer messages wait for their receive.
    TimePs message_ps = 100'000;        ///< Software time of one message, as OSU's tests show it.
    bool nic_in_order = false;  ///< Whether a NIC sends messages of several pairs one by one.
    bool keep_flows = false;    ///< Whether to record FlowRecords.
    bool keep_spans = false;    ///< Whether to record SpanRecords.
};

struct RankTimes {
    TimePs ended_at = 0;
    TimePs compute_ps = 0;  ///< Time in which the rank computed.
    TimePs exposed_ps = 0;  ///< Time in which it communicated or waited, and did not compute.
    std::uint64_t nvlink_bytes = 0;
    std::uint64_t fabric_bytes = 0;
};

/// A message from rank to rank, or a flow of a collective operation.
struct FlowRecord {
    std::uint32_t job = 0;
    std::uint32_t from = 0;       ///< Sending rank.
    std::uint32_t to = 0;         ///< Receiving rank.
    std::uint32_t operation = 0;  ///< Operation of the sending rank's program.
    std::uint64_t bytes = 0;
    bool nvlink = false;  ///< Whether it went over NVLink, else over the fabric.
    TimePs started_at = 0;
    TimePs delivered_at = 0;
};

/// The time that an operation took at a rank.
struct SpanRecord {
    std::uint32_t job = 0;
    std::uint32_t rank = 0;
    std::uint32_t operation = 0;
    TimePs started_at = 0;
    TimePs ended_at = 0;
};

class Player : public net::MessageListener {
  public:
    /// Plays jobs, which must have no fault (find_fault() in job.h). The caller owns the network,
    /// which must outlive the player.
    Player(const Cluster& cluster, net::Model& network, std::vector<PlacedJob> jobs,
           const PlayOptions& options);
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;
    ~Player() override;

    /// Handles at most `events` events. Returns true when nothing is left to happen.
    bool run_some(std::uint32_t events);
    /// Returns an error if the jobs failed, or if operations wait for others that never come.
    std::expected<void, std::string> outcome() const;

    const std::vector<PlacedJob>& jobs() const { return jobs_; }
    /// Returns the number of operations of all ranks.
    std::uint64_t operations() const { return operations_; }
    /// Returns the number of operations that have ended.
    std::uint64_t ended() const { return ended_; }
    const RankTimes& times(std::uint32_t job, std::uint32_t rank) const {
        return ranks_[first_rank_[job] + rank].times;
    }
    const std::vector<FlowRecord>& flows() const { return flows_; }
    const std::vector<SpanRecord>& spans() const { return spans_; }

    void handle_message(std::uint64_t tag, net::MessageEvent event, TimePs at) override;

  private:
    /// What all ranks of a program share.
    struct Plan {
        Links behind;                           ///< Operations that wait for each operation.
        std::vector<std::uint32_t> waits = {};  ///< Number of dependencies of each operation.
        /// Number of each collective operation among those of its communicator.
        std::vector<std::uint32_t> number = {};
        std::uint32_t lanes = 1;
    };
    struct Lane {
        bool busy = false;
        std::deque<std::uint32_t> queue = {};
    };
    struct RankState {
        std::uint32_t job = 0;
        std::uint32_t rank = 0;
        std::uint32_t gpu = 0;
        std::uint64_t first = 0;      ///< Position in waits_ of its first operation.
        std::uint64_t left = 0;       ///< Operations that have not ended.
        std::uint32_t computing = 0;  ///< Computations that have started and not ended.
        std::uint32_t talking = 0;    ///< Other operations that have started and not ended.
        TimePs since = 0;             ///< Time up to which `times` are settled.
        RankTimes times = {};
        std::vector<Lane> lanes = {};
    };
    enum class What : std::uint8_t { kReady, kEnd, kDelivered, kRound, kGroupEnd };
    struct Event {
        TimePs at = 0;
        std::uint64_t order = 0;  ///< Events of one time are handled in this order.
        What what = What::kReady;
        std::uint32_t who = 0;  ///< Position of the rank, transfer or group.
        std::uint32_t operation = 0;
    };
    struct Later {
        bool operator()(const Event& a, const Event& b) const {
            return a.at != b.at ? a.at > b.at : a.order > b.order;
        }
    };
    /// A message between two ranks.
    struct Transfer {
        std::uint32_t from = kNone;
        std::uint32_t send = kNone;
        std::uint32_t to = kNone;
        std::uint32_t recv = kNone;  ///< Operation that receives it; kNone: has not begun.
        std::uint64_t bytes = 0;
        TimePs started_at = 0;
        bool eager = false;   ///< Whether the send ends at once.
        bool leaves = false;  ///< Whether it leaves without waiting for its receive.
        bool delivered = false;
    };
    /// A receive from any rank or with any tag that has no message yet.
    struct PostedAny {
        std::uint64_t order = 0;
        std::uint32_t operation = 0;
    };
    /// Messages to a rank that have no receive yet, and receives of that rank that have no message
    /// yet.
    struct Mailbox {
        using Key = std::pair<std::uint32_t, std::uint32_t>;  ///< The sending rank, and the tag.
        struct Entry {
            std::uint64_t order = 0;
            std::uint32_t what = 0;  ///< A transfer in `sends`, an operation in `recvs`.
        };
        std::map<Key, std::deque<Entry>> sends = {};
        std::map<Key, std::deque<Entry>> recvs = {};
        std::deque<PostedAny> any = {};
    };
    /// A group of ranks, and the collective operation that its members have begun.
    struct GroupState {
        std::uint32_t job = 0;
        std::uint32_t communicator = 0;
        std::uint32_t group = 0;
        std::unique_ptr<Group> placed = {};  ///< Made when it is first needed.
        /// Operation of each member; kNone: the member has not begun it.
        std::vector<std::uint32_t> operations = {};
        std::uint32_t arrived = 0;  ///< Members that have begun it.
        GroupWork work = {};
        std::size_t round = 0;
        std::uint32_t open = 0;  ///< Flows of the round that have not arrived.
        TimePs begun_at = 0;
        TimePs round_at = 0;   ///< When the round began.
        TimePs fabric_ps = 0;  ///< Time of all rounds that have ended.
    };
    /// What a message in the network belongs to.
    struct Sent {
        std::uint32_t group = kNone;  ///< A group; kNone: the message is a transfer.
        std::uint32_t what = 0;       ///< Position of the transfer, or of the flow in its round.
    };

    const Operation& operation(std::uint32_t who, std::uint32_t operation) const;
    void fail(std::string message);
    void push(TimePs at, What what, std::uint32_t who, std::uint32_t operation = 0);
    void handle(const Event& event);
    void release(std::uint32_t who, std::uint32_t operation, Waits waits, TimePs at);
    void begin(std::uint32_t who, std::uint32_t operation, TimePs at);
    void start(std::uint32_t who, std::uint32_t operation, TimePs at);
    void end(std::uint32_t who, std::uint32_t operation, TimePs at);
    void settle(RankState& rank, TimePs at);

    void begin_send(std::uint32_t who, std::uint32_t operation, TimePs at);
    void begin_recv(std::uint32_t who, std::uint32_t operation, TimePs at);
    void join(std::uint32_t transfer, std::uint32_t recv, TimePs at);
    void transmit(std::uint32_t transfer, TimePs at);
    TimePs when_the_nic_is_free(const Transfer& transfer, const NicFlow& flow, TimePs start);
    void deliver(std::uint32_t transfer, TimePs at);
    std::uint32_t find_recv(Mailbox& box, const Mailbox::Key& key);
    std::uint32_t find_send(Mailbox& box, const Mailbox::Key& key);

    void begin_collective(std::uint32_t who, std::uint32_t operation, TimePs at);
    void arrive(std::uint32_t who, std::uint32_t operation, TimePs at);
    void begin_group(std::uint32_t id, TimePs at);
    void begin_round(std::uint32_t id, TimePs at);
    void end_flow(std::uint32_t id, std::uint32_t flow, TimePs at);
    void end_round(std::uint32_t id, TimePs at);
    void end_group(std::uint32_t id, TimePs at);

    std::uint64_t add_sent(const Sent& sent);
    void send(const NicFlow& flow, const Sent& sent, TimePs at);

    Places places_;
    net::Model& network_;
    std::vector<PlacedJob> jobs_;
    PlayOptions options_;
    double speed_factor_;
    double nvlink_rate_;
    TimePs leaf_ps_;                              ///< Latency between two HCAs of one leaf.
    std::vector<std::uint32_t> first_rank_ = {};  ///< Position in ranks_ of each job's rank 0.
    std::vector<std::vector<Plan>> plans_ = {};   ///< Plans by job and program.
    std::vector<RankState> ranks_ = {};           ///< Ranks of all jobs.
    std::vector<std::uint32_t> waits_ = {};       ///< Open dependencies of each operation, by rank.
    std::vector<Mailbox> boxes_ = {};             ///< Mailbox of each rank.
    /// Number of the next collective operation in each communicator, by rank.
    std::vector<std::uint32_t> next_number_ = {};
    std::vector<std::uint64_t> first_number_ = {};  ///< Position in next_number_ for each rank.
    /// Position in groups_ of the first group of each communicator, by job.
    std::vector<std::vector<std::uint32_t>> first_group_ = {};
    /// Member that each rank is in its group, by communicator of all jobs.
    std::vector<std::vector<std::uint32_t>> member_of_ = {};
    /// Position in member_of_ of each job's first communicator.
    std::vector<std::uint32_t> first_member_of_ = {};
    std::vector<GroupState> groups_ = {};
    /// Collective operations that wait for an earlier one of their communicator, by rank,
    /// communicator and number.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> early_ = {};
    std::vector<Event> events_ = {};  ///< A heap, the earliest first.
    std::uint64_t pushed_ = 0;
    std::uint64_t posted_ = 0;
    std::vector<Transfer> transfers_ = {};
    std::vector<Sent> sent_ = {};
    std::vector<std::uint32_t> free_sent_ = {};
    std::vector<TimePs> nvlink_free_at_ = {};  ///< When the NVLink of each GPU is free.
    /// When the NIC has sent the last message of a pair of ranks, or all messages of a NIC (kNone
    /// for the receiver).
    std::map<std::pair<std::uint32_t, std::uint32_t>, TimePs> nic_free_at_ = {};
    std::vector<FlowRecord> flows_ = {};
    std::vector<SpanRecord> spans_ = {};
    std::vector<TimePs> started_at_ = {};  ///< Start of each operation of waits_, to keep spans.
    std::uint64_t operations_ = 0;
    std::uint64_t ended_ = 0;
    std::string error_ = {};
};

}  // namespace softib::plan::trace
