// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/message_stage.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace softib::plan {

namespace {

constexpr double kPsPerMicro = 1e6;

/// Returns a flow of one byte for each sender, to measure the latency.
Flows probes_of(const Flows& flows) {
    Flows probes = flows;
    std::ranges::stable_sort(probes, {}, &NicFlow::from);
    const auto [first, last] = std::ranges::unique(probes, {}, &NicFlow::from);
    probes.erase(first, last);
    for (NicFlow& probe : probes) {
        probe.bytes = 1;
    }
    return probes;
}

}  // namespace

MessageStage::MessageStage(std::unique_ptr<net::Model> model, const MessageStageConfig& config)
    : model_(std::move(model)), config_(config) {
    model_->set_listener(this);
}

std::expected<Played, std::string> MessageStage::play(const Flows& flows, double flow_bytes_per_s) {
    Played played;
    if (flows.empty()) {
        return played;
    }
    pace_ps_per_byte_ = 0;
    const net::TimePs probed_at = model_->now();
    if (auto ran = run(probes_of(flows), 1, 1); !ran) {
        return std::unexpected(ran.error());
    }
    net::TimePs latency = 0;
    for (const State& state : states_) {
        latency = std::max(latency, state.delivered_at - probed_at);
    }
    played.latency_us = static_cast<double>(latency) / kPsPerMicro;
    const std::uint64_t longest = std::ranges::max(flows, {}, &NicFlow::bytes).bytes;
    std::uint64_t all = 0;
    for (const NicFlow& flow : flows) {
        all += flow.bytes;
    }
    const auto of_longest = [longest](std::uint64_t bytes) {
        return static_cast<double>(bytes) /
               static_cast<double>(std::max<std::uint64_t>(longest, 1));
    };
    const double fits = std::min(static_cast<double>(config_.bytes_max) / static_cast<double>(all),
                                 of_longest(config_.slice_bytes * config_.flow_slices_max));
    const double part = std::min(1.0, std::max(fits, of_longest(config_.flow_bytes_min)));
    played.scaled = part < 1;
    if (flow_bytes_per_s > 0) {
        pace_ps_per_byte_ = 1e12 / flow_bytes_per_s * config_.speed_factor;
    }
    // The longest flow is cut into more slices than are under way at once, so that the part is as
    // steady as the whole. If there are many flows, fewer slices of each are enough.
    const double longest_played = static_cast<double>(longest) * part / config_.speed_factor;
    constexpr double kMessagesMax = 1U << 14;
    const double slices = std::clamp(kMessagesMax / static_cast<double>(flows.size()), 1.0,
                                     2.0 * config_.outstanding);
    const auto slice = static_cast<std::uint64_t>(std::max(
        {std::min(static_cast<double>(config_.slice_bytes), std::ceil(longest_played / slices)),
         std::ceil(longest_played / std::max(slices, 64.0)), 4096.0}));
    const net::TimePs begun_at = model_->now();
    if (auto ran = run(flows, part / config_.speed_factor, slice); !ran) {
        return std::unexpected(ran.error());
    }
    // A flow is done when its last byte is there and its channel has copied that byte.
    double busy = 0;
    for (const State& state : states_) {
        busy = std::max(
            {busy,
             static_cast<double>(state.delivered_at - begun_at) - static_cast<double>(latency),
             static_cast<double>(state.next_at - begun_at)});
    }
    played.us = busy / part / kPsPerMicro;
    return played;
}

std::expected<void, std::string> MessageStage::run(const Flows& flows, double part,
                                                   std::uint64_t slice_bytes) {
    slice_bytes_ = slice_bytes;
    failed_ = false;
    states_.assign(flows.size(), {});
    const net::TimePs start = model_->now();
    for (std::size_t i = 0; i < flows.size(); ++i) {
        states_[i].flow = flows[i];
        states_[i].unsent = std::max<std::uint64_t>(
            static_cast<std::uint64_t>(std::llround(static_cast<double>(flows[i].bytes) * part)),
            1);
        states_[i].next_at = start;
    }
    // One slice of each flow in turn, so that no flow sends all its slices before another begins.
    for (std::uint32_t turn = 0; turn < config_.outstanding; ++turn) {
        for (std::size_t i = 0; i < states_.size(); ++i) {
            send(i, start);
        }
    }
    constexpr std::uint32_t kStep = 1U << 20;
    while (!model_->run_some(net::kNever, kStep)) {
    }
    const auto unfinished = std::ranges::find_if(
        states_, [](const State& state) { return state.unsent != 0 || state.open != 0; });
    if (failed_ || unfinished != states_.end()) {
        const NicFlow& flow = failed_ ? states_[failed_tag_].flow : unfinished->flow;
        return std::unexpected(no_way(flow));
    }
    return {};
}

void MessageStage::send(std::uint64_t tag, net::TimePs at) {
    State& state = states_[tag];
    if (state.unsent == 0) {
        return;
    }
    const std::uint64_t bytes = std::min(state.unsent, slice_bytes_);
    const net::TimePs start = std::max(at, state.next_at);
    state.next_at =
        start + static_cast<net::TimePs>(static_cast<double>(bytes) * pace_ps_per_byte_);
    state.unsent -= bytes;
    ++state.open;
    model_->send({.from = state.flow.from,
                  .to = state.flow.to,
                  .bytes = bytes,
                  .tag = tag,
                  .connection = state.flow.connection},
                 start);
}

void MessageStage::handle_message(std::uint64_t tag, net::MessageEvent event, net::TimePs at) {
    State& state = states_[tag];
    if (event == net::MessageEvent::kDelivered) {
        state.delivered_at = std::max(state.delivered_at, at);
        return;
    }
    --state.open;
    if (event == net::MessageEvent::kFailed) {
        failed_ = true;
        failed_tag_ = tag;
        state.unsent = 0;
        return;
    }
    send(tag, at);
}

}  // namespace softib::plan
