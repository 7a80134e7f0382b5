// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plays sets of flows as messages on a model of the fabric, as NCCL's proxies send them: in slices,
// with a few slices of each flow under way, and no faster than a channel can copy.
//
// If a set has long flows, only a part of its bytes is played, the same part of each flow, and the
// time is scaled up. That is exact if rates do not change during the set, for example because all
// flows have the same length. Played::scaled tells whether this was done.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "net/model.h"
#include "plan/collective/stage.h"

namespace softib::plan {

struct MessageStageConfig {
    std::uint64_t slice_bytes = 512 * 1024;  ///< NCCL's Simple protocol: 4 MiB in 8 steps.
    std::uint32_t outstanding = 4;           ///< Slices of a flow that are under way at once.
    std::uint64_t bytes_max = 1ULL << 30;    ///< Most bytes of a set that are played.
    std::uint32_t flow_slices_max = 64;      ///< Most slices of the longest flow that are played.
    /// Least bytes of a set's longest flow that are played, even if the other limits are exceeded.
    std::uint64_t flow_bytes_min = 64 * 1024;
    double speed_factor = 1;  ///< Real links carry this many times the rate of the model's links.
};

class MessageStage : public Stage, public net::MessageListener {
  public:
    /// The model must have no messages under way.
    MessageStage(std::unique_ptr<net::Model> model, const MessageStageConfig& config);
    MessageStage(const MessageStage&) = delete;
    MessageStage& operator=(const MessageStage&) = delete;

    std::expected<Played, std::string> play(const Flows& flows, double flow_bytes_per_s) override;

    void handle_message(std::uint64_t tag, net::MessageEvent event, net::TimePs at) override;

  private:
    struct State {
        NicFlow flow = {};
        std::uint64_t unsent = 0;  ///< Bytes in slices that have not begun.
        std::uint32_t open = 0;    ///< Slices that are not acknowledged yet.
        net::TimePs next_at = 0;   ///< Earliest time at which the next slice may begin.
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
