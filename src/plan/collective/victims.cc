// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/victims.h"

#include <algorithm>
#include <memory>

#include "core/topo/spec.h"
#include "net/sim/simulation.h"
#include "plan/cluster/fabric.h"
#include "plan/collective/stage.h"

namespace softib::plan {

namespace {

constexpr std::uint64_t kAggressorBytes = 2 << 20;
/// Time that aggressors send before victims begin, so that congestion is steady.
constexpr net::TimePs kBefore = 200'000'000;
constexpr std::uint64_t kVictimTag = 1ULL << 40;

/// Sends the messages of victims and aggressors.
class Contest : public net::MessageListener {
  public:
    Contest(net::Model& model, VictimOp op, std::uint64_t bytes, Aggressor aggressor)
        : model_(model), op_(op), victims_((model.end_count() + 1) / 2) {
        model_.set_listener(this);
        attack(aggressor);
        const std::uint64_t block = op == VictimOp::kAllToAll ? bytes : bytes / victims_;
        bytes_ = std::max<std::uint64_t>(block, 1);
        const std::uint32_t first = op == VictimOp::kAllToAll ? victims_ - 1 : 1;
        for (std::uint32_t shift = 1; shift <= first; ++shift) {
            for (std::uint32_t victim = 0; victim < victims_; ++victim) {
                send_block(victim, shift, 1, kBefore);
            }
        }
        left_ = std::uint64_t{victims_} * (victims_ - 1);
    }
    Contest(const Contest&) = delete;
    Contest& operator=(const Contest&) = delete;
    ~Contest() override { model_.set_listener(nullptr); }

    /// Returns the microseconds that the victims take; 0 if their operation does not end.
    double run() {
        constexpr std::uint32_t kStep = 1U << 12;
        bool idle = false;
        while (left_ != 0 && !idle) {
            idle = model_.run_some(net::kNever, kStep);
        }
        return left_ != 0 ? 0 : static_cast<double>(done_at_ - kBefore) / 1e6;
    }

    void handle_message(std::uint64_t tag, net::MessageEvent event, net::TimePs at) override {
        const bool victims = tag >= kVictimTag;
        if (victims && event == net::MessageEvent::kDelivered) {
            --left_;
            done_at_ = std::max(done_at_, at);
            const std::uint64_t step = (tag - kVictimTag) / victims_;
            const auto to = static_cast<std::uint32_t>((tag - kVictimTag) % victims_);
            if (op_ == VictimOp::kAllGather && step + 1 < victims_) {
                send_block(to, 1, step + 1, at);
            }
        } else if (!victims && event == net::MessageEvent::kAcknowledged && left_ != 0) {
            send_attack(tag, at);
        }
    }

  private:
    void attack(Aggressor aggressor) {
        const std::uint32_t count = model_.end_count() / 2;
        for (std::uint32_t shift = 1; shift < count && aggressor != Aggressor::kNone; ++shift) {
            for (std::uint32_t from = 0; from < count; ++from) {
                const std::uint32_t to = (from + shift) % count;
                if (aggressor == Aggressor::kAllToAll || to == 0) {
                    attacks_.push_back({2 * from + 1, 2 * to + 1});
                    send_attack(attacks_.size() - 1, 0);
                }
            }
        }
    }
    void send_attack(std::uint64_t tag, net::TimePs at) {
        const auto [from, to] = attacks_[tag];
        model_.send({.from = from, .to = to, .bytes = kAggressorBytes, .tag = tag}, at);
    }
    /// Sends a block of a victim. Its tag has the number of the step and the receiver.
    void send_block(std::uint32_t victim, std::uint32_t shift, std::uint64_t step, net::TimePs at) {
        const std::uint32_t to = (victim + shift) % victims_;
        model_.send({.from = 2 * victim,
                     .to = 2 * to,
                     .bytes = bytes_,
                     .tag = kVictimTag + step * victims_ + to},
                    at);
    }

    struct Attack {
        std::uint32_t from;
        std::uint32_t to;
    };
    net::Model& model_;
    VictimOp op_;
    std::uint32_t victims_;
    std::uint64_t bytes_ = 0;
    std::uint64_t left_ = 0;  ///< Blocks that have not arrived.
    net::TimePs done_at_ = 0;
    std::vector<Attack> attacks_ = {};
};

}  // namespace

std::expected<double, std::string> victim_us(const Cluster& cluster, VictimOp op,
                                             std::uint64_t bytes, Aggressor aggressor) {
    Cluster hosts = cluster;
    hosts.fabric.spec.hcas_per_host = 1;
    const auto fabric = modelled_plane(hosts);
    if (!fabric) {
        return std::unexpected(fabric.error().message);
    }
    auto model = net::Simulation::make(*fabric, packet_options(hosts));
    if (!model) {
        return std::unexpected(model.error().message);
    }
    Contest contest(*model, op, bytes, aggressor);
    const double us = contest.run();
    if (us == 0) {
        return std::unexpected("the operation does not end: the fabric's routes do not join hosts");
    }
    return us;
}

}  // namespace softib::plan
