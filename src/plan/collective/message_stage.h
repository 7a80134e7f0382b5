// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plays sets of flows as messages on a model of the fabric, as NCCL's proxies send them: in slices,
// with a few of each flow under way, and no faster than a channel can copy.
//
// A set whose flows are long is played with a part of its bytes, the same part of each, and the
// time is scaled. That is exact where rates do not change during a set, as they do not if all flows
// are of one length; Played::scaled says that it was done.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "net/model.h"
#include "plan/collective/stage.h"

namespace softib::plan {

struct MessageStageConfig {
    std::uint64_t slice_bytes = 512 * 1024;    ///< NCCL's Simple protocol: 4 MiB in 8 steps.
    std::uint32_t outstanding = 4;             ///< Slices of a flow under way.
    std::uint64_t bytes_max = 1ULL << 30;      ///< Of a set, played.
    std::uint32_t flow_slices_max = 64;        ///< Of its longest flow, played.
    std::uint64_t flow_bytes_min = 64 * 1024;  ///< Of the longest flow of a set, at least.
    double speed_factor = 1;                   ///< Links carry this many times what the model's do.
};

class MessageStage : public Stage, public net::MessageListener {
  public:
    /// The model has nothing under way.
    MessageStage(std::unique_ptr<net::Model> model, const MessageStageConfig& config);
    MessageStage(const MessageStage&) = delete;
    MessageStage& operator=(const MessageStage&) = delete;

    std::expected<Played, std::string> play(const Flows& flows, double flow_bytes_per_s) override;

    void handle_message(std::uint64_t tag, net::MessageEvent event, net::TimePs at) override;

  private:
    struct State {
        NicFlow flow = {};
        std::uint64_t unsent = 0;
        std::uint32_t open = 0;
        net::TimePs next_at = 0;  ///< Not earlier than this the next slice begins.
        net::TimePs delivered_at = 0;
    };

    std::expected<void, std::string> run(const Flows& flows, double part,
                                         std::uint64_t slice_bytes);
    void send(std::uint64_t tag, net::TimePs at);

    std::unique_ptr<net::Model> model_;
    MessageStageConfig config_;
    std::uint64_t slice_bytes_ = 0;
    double pace_ps_per_byte_ = 0;
    std::vector<State> states_ = {};
    bool failed_ = false;
    std::uint64_t failed_tag_ = 0;
};

}  // namespace softib::plan
