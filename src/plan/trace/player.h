// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plays jobs on a cluster: every operation begins when those that it depends on have ended,
// messages and the traffic of collective operations meet in one model of the fabric.
//
//   compute     takes its time; computations of one lane of a rank run one after the other.
//   send, recv  meet by rank and tag in the order in which they begin. A message leaves when its
//               send begins. The send of a short one ends then, that of a longer one when it is
//               acknowledged; with a rendezvous a longer one leaves when its receive has begun.
//   collective  begins when all members of its group are there, and ends for all at once. Members
//               match by their number in the communicator, and a rank has one of each communicator
//               at a time, as NCCL orders them. Its time is NCCL's software plus the larger of what
//               its traffic takes in the fabric and NVLink, as in collective_model.h.
//
// Bytes between GPUs of one NVLink domain go over NVLink, one message of a GPU after the other.

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
    std::vector<std::uint32_t> gpus = {};  ///< By rank.
};

struct PlayOptions {
    std::uint64_t eager_bytes = 65536;  ///< Sends of messages up to this end at once.
    bool rendezvous = false;            ///< Longer ones wait for their receive.
    TimePs message_ps = 100'000;        ///< Software for one message: what OSU's tests show.
    bool keep_flows = false;
    bool keep_spans = false;
};

struct RankTimes {
    TimePs ended_at = 0;
    TimePs compute_ps = 0;  ///< It computed.
    TimePs exposed_ps = 0;  ///< It communicated or waited for others, and did not compute.
    std::uint64_t nvlink_bytes = 0;
    std::uint64_t fabric_bytes = 0;
};

/// Bytes from rank to rank as one message.
struct FlowRecord {
    std::uint32_t job = 0;
    std::uint32_t from = 0;       ///< Rank.
    std::uint32_t to = 0;         ///< Rank.
    std::uint32_t operation = 0;  ///< Of the sending rank's program.
    std::uint64_t bytes = 0;
    bool nvlink = false;
    TimePs started_at = 0;
    TimePs delivered_at = 0;
};

struct SpanRecord {
    std::uint32_t job = 0;
    std::uint32_t rank = 0;
    std::uint32_t operation = 0;
    TimePs started_at = 0;
    TimePs ended_at = 0;
};

class Player : public net::MessageListener {
  public:
    /// The network stays the caller's and outlives this. Jobs have no fault (job.h).
    Player(const Cluster& cluster, net::Model& network, std::vector<PlacedJob> jobs,
           const PlayOptions& options);
    Player(const Player&) = delete;
    Player& operator=(const Player&) = delete;
    ~Player() override;

    /// Goes on for so many events at most. Returns true when nothing is left to happen.
    bool run_some(std::uint32_t events);
    /// Says why the jobs did not end: operations that wait for what nobody does.
    std::expected<void, std::string> outcome() const;

    const std::vector<PlacedJob>& jobs() const { return jobs_; }
    std::uint64_t operations() const { return operations_; }
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
        Links behind;
        std::vector<std::uint32_t> waits = {};   ///< Dependencies, by operation.
        std::vector<std::uint32_t> number = {};  ///< Of a collective in its communicator.
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
        std::uint64_t first = 0;  ///< Of waits_.
        std::uint64_t left = 0;   ///< Operations that have not ended.
        std::uint32_t computing = 0;
        std::uint32_t talking = 0;
        TimePs since = 0;
        RankTimes times = {};
        std::vector<Lane> lanes = {};
    };
    enum class What : std::uint8_t { kReady, kEnd, kDelivered, kRound, kGroupEnd };
    struct Event {
        TimePs at = 0;
        std::uint64_t order = 0;
        What what = What::kReady;
        std::uint32_t who = 0;  ///< Rank, transfer or group.
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
        std::uint32_t recv = kNone;  ///< Not there yet.
        std::uint64_t bytes = 0;
        TimePs started_at = 0;
        bool eager = false;   ///< The send ends at once.
        bool leaves = false;  ///< It does not wait for its receive.
        bool delivered = false;
    };
    struct PostedAny {
        std::uint64_t order = 0;
        std::uint32_t operation = 0;
    };
    /// What waits at a rank for its other half, by the other rank and tag.
    struct Mailbox {
        using Key = std::pair<std::uint32_t, std::uint32_t>;
        struct Entry {
            std::uint64_t order = 0;
            std::uint32_t what = 0;  ///< Transfer, or operation.
        };
        std::map<Key, std::deque<Entry>> sends = {};
        std::map<Key, std::deque<Entry>> recvs = {};
        std::deque<PostedAny> any = {};
    };
    /// A group of ranks, and the operation that they have begun.
    struct GroupState {
        std::uint32_t job = 0;
        std::uint32_t communicator = 0;
        std::uint32_t group = 0;
        std::unique_ptr<Group> placed = {};          ///< When first needed.
        std::vector<std::uint32_t> operations = {};  ///< By member; kNone: not there yet.
        std::uint32_t arrived = 0;
        GroupWork work = {};
        std::size_t round = 0;
        std::uint32_t open = 0;  ///< Flows of the round that have not arrived.
        TimePs begun_at = 0;
        TimePs round_at = 0;
        TimePs fabric_ps = 0;
    };
    /// What a message of the network is.
    struct Sent {
        std::uint32_t group = kNone;  ///< kNone: of a transfer.
        std::uint32_t what = 0;       ///< Transfer, or flow of the group's round.
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
    void deliver(std::uint32_t transfer, TimePs at);
    std::uint32_t find_recv(Mailbox& box, const Mailbox::Key& key);
    std::uint32_t find_send(Mailbox& box, const Mailbox::Key& key);

    void begin_collective(std::uint32_t who, std::uint32_t operation, TimePs at);
    void arrive(std::uint32_t who, std::uint32_t operation, TimePs at);
    GroupOperation group_operation(const GroupState& group) const;
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
    TimePs leaf_ps_;
    std::vector<std::uint32_t> first_rank_ = {};                ///< By job.
    std::vector<std::vector<Plan>> plans_ = {};                 ///< By job and program.
    std::vector<RankState> ranks_ = {};                         ///< Of all jobs.
    std::vector<std::uint32_t> waits_ = {};                     ///< By operation of each rank.
    std::vector<Mailbox> boxes_ = {};                           ///< By rank.
    std::vector<std::uint32_t> next_number_ = {};               ///< By rank and communicator.
    std::vector<std::uint64_t> first_number_ = {};              ///< By rank.
    std::vector<std::vector<std::uint32_t>> first_group_ = {};  ///< By job and communicator.
    std::vector<std::vector<std::uint32_t>> member_of_ = {};    ///< As first_group_, by rank.
    std::vector<std::uint32_t> first_member_of_ = {};           ///< Of member_of_, by job.
    std::vector<GroupState> groups_ = {};
    /// Collectives that wait for an earlier one of their communicator: rank, communicator, number.
    std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> early_ = {};
    std::vector<Event> events_ = {};  ///< A heap, the earliest first.
    std::uint64_t pushed_ = 0;
    std::uint64_t posted_ = 0;
    std::vector<Transfer> transfers_ = {};
    std::vector<Sent> sent_ = {};
    std::vector<std::uint32_t> free_sent_ = {};
    std::vector<TimePs> nvlink_free_at_ = {};  ///< By GPU.
    std::vector<FlowRecord> flows_ = {};
    std::vector<SpanRecord> spans_ = {};
    std::vector<TimePs> started_at_ = {};  ///< As waits_, if spans are kept.
    std::uint64_t operations_ = 0;
    std::uint64_t ended_ = 0;
    std::string error_ = {};
};

}  // namespace softib::plan::trace
