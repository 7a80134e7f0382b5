// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/player.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "plan/collective/stage.h"

namespace softib::plan::trace {

namespace {

/// The latest time of an event: half of what 64 bits of picoseconds hold, about 100 days.
constexpr TimePs kLatest = kNever / 2;

/// Returns the number of each collective operation among those of its communicator, in an order
/// that dependencies allow.
std::vector<std::uint32_t> collective_numbers(const Program& program, std::size_t communicators) {
    std::vector<std::uint32_t> numbers(program.next());
    std::vector<std::uint32_t> next(communicators);
    const auto order = sorted(program);
    for (const std::uint32_t i : order.value_or(std::vector<std::uint32_t>{})) {
        const Operation& op = program.operations()[i];
        if (op.kind == Kind::kCollective) {
            numbers[i] = next[op.communicator]++;
        }
    }
    return numbers;
}

}  // namespace

Player::Player(const Cluster& cluster, net::Model& network, std::vector<PlacedJob> jobs,
               const PlayOptions& options)
    : places_(cluster),
      network_(network),
      jobs_(std::move(jobs)),
      options_(options),
      speed_factor_(cluster.fabric.speed_factor()),
      nvlink_rate_(nvlink_rate(cluster)),
      leaf_ps_(static_cast<TimePs>(leaf_latency_us(cluster) * 1e6)),
      nvlink_free_at_(cluster.gpus()) {
    network_.set_listener(this);
    for (std::uint32_t j = 0; j < jobs_.size(); ++j) {
        const Job& job = jobs_[j].job;
        first_rank_.push_back(static_cast<std::uint32_t>(ranks_.size()));
        std::vector<Plan>& plans = plans_.emplace_back();
        for (const Program& program : job.programs) {
            Plan plan{.behind = Links(program.next(), program.edges(), true),
                      .waits = std::vector<std::uint32_t>(program.next()),
                      .number = collective_numbers(program, job.communicators.size())};
            for (const Edge& edge : program.edges()) {
                ++plan.waits[edge.operation];
            }
            for (const Operation& op : program.operations()) {
                plan.lanes = std::max(plan.lanes, op.lane + 1U);
            }
            plans.push_back(std::move(plan));
        }
        std::vector<std::uint32_t>& firsts = first_group_.emplace_back();
        first_member_of_.push_back(static_cast<std::uint32_t>(member_of_.size()));
        for (std::uint32_t c = 0; c < job.communicators.size(); ++c) {
            const Communicator& comm = job.communicators[c];
            firsts.push_back(static_cast<std::uint32_t>(groups_.size()));
            std::vector<std::uint32_t>& member_of = member_of_.emplace_back(job.ranks());
            for (std::uint32_t g = 0; g < comm.groups.size(); ++g) {
                groups_.push_back({.job = j, .communicator = c, .group = g});
                for (std::uint32_t member = 0; member < comm.groups[g].size(); ++member) {
                    member_of[comm.groups[g][member]] = member;
                }
            }
        }
        for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
            const Plan& plan = plans[job.program_of[rank]];
            const auto who = static_cast<std::uint32_t>(ranks_.size());
            ranks_.push_back({.job = j,
                              .rank = rank,
                              .gpu = jobs_[j].gpus[rank],
                              .first = waits_.size(),
                              .left = plan.waits.size(),
                              .lanes = std::vector<Lane>(plan.lanes)});
            operations_ += plan.waits.size();
            waits_.insert(waits_.end(), plan.waits.begin(), plan.waits.end());
            first_number_.push_back(next_number_.size());
            next_number_.resize(next_number_.size() + job.communicators.size());
            for (std::uint32_t i = 0; i < plan.waits.size(); ++i) {
                if (plan.waits[i] == 0) {
                    push(0, What::kReady, who, i);
                }
            }
        }
    }
    boxes_.resize(ranks_.size());
    if (options_.keep_spans) {
        started_at_.resize(waits_.size());
    }
}

Player::~Player() {
    network_.set_listener(nullptr);
}

const Operation& Player::operation(std::uint32_t who, std::uint32_t operation) const {
    const RankState& rank = ranks_[who];
    return jobs_[rank.job].job.program(rank.rank).operations()[operation];
}

void Player::fail(std::string message) {
    if (error_.empty()) {
        error_ = std::move(message);
    }
}

void Player::push(TimePs at, What what, std::uint32_t who, std::uint32_t operation) {
    if (at > kLatest) {
        fail("the jobs take longer than 100 days: look at the times of their computations");
        return;
    }
    events_.push_back({at, pushed_++, what, who, operation});
    std::ranges::push_heap(events_, Later{});
}

bool Player::run_some(std::uint32_t events) {
    for (; events != 0; --events) {
        if (!error_.empty()) {
            return true;
        }
        const TimePs due = events_.empty() ? kNever : events_.front().at;
        // The network runs one event at a time, since an event may cause one of ours that is due
        // before the network's next.
        if (!network_.idle() && !network_.run_some(due, 1)) {
            continue;
        }
        if (events_.empty()) {
            if (network_.idle()) {
                return true;
            }
            continue;
        }
        std::ranges::pop_heap(events_, Later{});
        const Event event = events_.back();
        events_.pop_back();
        handle(event);
    }
    return false;
}

void Player::handle(const Event& event) {
    switch (event.what) {
        case What::kReady:
            return begin(event.who, event.operation, event.at);
        case What::kEnd:
            return end(event.who, event.operation, event.at);
        case What::kDelivered:
            deliver(event.who, event.at);
            if (!transfers_[event.who].eager) {
                end(transfers_[event.who].from, transfers_[event.who].send, event.at);
            }
            return;
        case What::kRound:
            return end_round(event.who, event.at);
        case What::kGroupEnd:
            return end_group(event.who, event.at);
    }
}

/// Tells the operations that wait for this one that it has started or ended.
void Player::release(std::uint32_t who, std::uint32_t operation, Waits waits, TimePs at) {
    const RankState& rank = ranks_[who];
    const Plan& plan = plans_[rank.job][jobs_[rank.job].job.program_of[rank.rank]];
    for (const Dependency& next : plan.behind.of(operation)) {
        if (next.waits == waits && --waits_[rank.first + next.on] == 0) {
            push(at, What::kReady, who, next.on);
        }
    }
}

/// Adds the time since the rank's last change to its times.
void Player::settle(RankState& rank, TimePs at) {
    const TimePs passed = at - rank.since;
    if (rank.computing != 0) {
        rank.times.compute_ps += passed;
    } else if (rank.talking != 0) {
        rank.times.exposed_ps += passed;
    }
    rank.since = at;
}

void Player::begin(std::uint32_t who, std::uint32_t number, TimePs at) {
    const Operation& op = operation(who, number);
    if (op.kind == Kind::kCompute) {
        Lane& lane = ranks_[who].lanes[op.lane];
        if (lane.busy) {
            lane.queue.push_back(number);
            return;
        }
        lane.busy = true;
        start(who, number, at);
        push(at + op.compute_ps, What::kEnd, who, number);
        return;
    }
    start(who, number, at);
    if (op.kind == Kind::kSend) {
        begin_send(who, number, at);
    } else if (op.kind == Kind::kRecv) {
        begin_recv(who, number, at);
    } else {
        begin_collective(who, number, at);
    }
}

void Player::start(std::uint32_t who, std::uint32_t number, TimePs at) {
    RankState& rank = ranks_[who];
    settle(rank, at);
    ++(operation(who, number).kind == Kind::kCompute ? rank.computing : rank.talking);
    if (options_.keep_spans) {
        started_at_[rank.first + number] = at;
    }
    release(who, number, Waits::kForStart, at);
}

void Player::end(std::uint32_t who, std::uint32_t number, TimePs at) {
    RankState& rank = ranks_[who];
    settle(rank, at);
    const Operation& op = operation(who, number);
    --(op.kind == Kind::kCompute ? rank.computing : rank.talking);
    rank.times.ended_at = std::max(rank.times.ended_at, at);
    --rank.left;
    ++ended_;
    if (options_.keep_spans) {
        spans_.push_back({rank.job, rank.rank, number, started_at_[rank.first + number], at});
    }
    if (op.kind == Kind::kCompute) {
        Lane& lane = rank.lanes[op.lane];
        lane.busy = false;
        if (!lane.queue.empty()) {
            const std::uint32_t next = lane.queue.front();
            lane.queue.pop_front();
            begin(who, next, at);
        }
    }
    release(who, number, Waits::kForEnd, at);
}

std::expected<void, std::string> Player::outcome() const {
    if (!error_.empty()) {
        return std::unexpected(error_);
    }
    if (ended_ == operations_) {
        return {};
    }
    const auto stuck =
        std::ranges::find_if(ranks_, [](const RankState& rank) { return rank.talking != 0; });
    std::string what = "operations wait for each other";
    if (stuck != ranks_.end()) {
        const auto who = static_cast<std::uint32_t>(stuck - ranks_.begin());
        const Job& job = jobs_[stuck->job].job;
        // An operation that has started and not ended is in a mailbox, in a group, or waits for an
        // earlier one of its group.
        std::vector<std::uint32_t> waiting;
        for (const auto& [key, entries] : boxes_[who].recvs) {
            waiting.push_back(entries.front().what);
        }
        for (const PostedAny& any : boxes_[who].any) {
            waiting.push_back(any.operation);
        }
        for (const GroupState& group : groups_) {
            const auto& members = job.communicators[group.communicator].groups[group.group];
            for (std::size_t m = 0; group.job == stuck->job && m < group.operations.size(); ++m) {
                if (members[m] == stuck->rank && group.operations[m] != kNone) {
                    waiting.push_back(group.operations[m]);
                }
            }
        }
        what = waiting.empty() ? fmt::format("a send of rank {} waits for its receive", stuck->rank)
                               : fmt::format("rank {} waits in '{}'", stuck->rank,
                                             describe(job, stuck->rank, waiting.front()));
    }
    return std::unexpected(
        fmt::format("{} of {} operations never end: {}, and nobody does the other half",
                    operations_ - ended_, operations_, what));
}

std::uint64_t Player::add_sent(const Sent& sent) {
    if (free_sent_.empty()) {
        sent_.push_back(sent);
        return sent_.size() - 1;
    }
    const std::uint32_t slot = free_sent_.back();
    free_sent_.pop_back();
    sent_[slot] = sent;
    return slot;
}

void Player::send(const NicFlow& flow, const Sent& sent, TimePs at) {
    const auto scaled =
        static_cast<std::uint64_t>(std::llround(static_cast<double>(flow.bytes) / speed_factor_));
    network_.send({.from = flow.from,
                   .to = flow.to,
                   .bytes = std::max<std::uint64_t>(scaled, 1),
                   .tag = add_sent(sent),
                   .connection = flow.connection},
                  at);
}

void Player::handle_message(std::uint64_t tag, net::MessageEvent event, TimePs at) {
    const Sent sent = sent_[tag];
    if (event == net::MessageEvent::kFailed) {
        fail("a message cannot be delivered: the fabric's routes do not join its ends");
        return;
    }
    if (event == net::MessageEvent::kDelivered) {
        if (sent.group == kNone) {
            deliver(sent.what, at);
        } else {
            end_flow(sent.group, sent.what, at);
        }
        return;
    }
    free_sent_.push_back(static_cast<std::uint32_t>(tag));
    if (sent.group == kNone) {
        const Transfer transfer = transfers_[sent.what];
        if (!transfer.eager) {
            push(at, What::kEnd, transfer.from, transfer.send);
        }
    }
}

}  // namespace softib::plan::trace
