// SPDX-License-Identifier: BSD-2-Clause
#include "net/flow/flow_simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/base/check.h"
#include "core/base/mix.h"

namespace softib::net::flow {

namespace {

/// Returns an error if the options ask for something that only packets can show, so that a user
/// does not take the answer for more than it is.
std::expected<void, topo::Error> check_flow_options(const SimulationOptions& options) {
    std::string_view lacks;
    if (options.roce) {
        lacks = "Ethernet (link_layer)";
    } else if (options.congestion) {
        lacks = "congestion control";
    } else if (options.qos.on) {
        lacks = "lanes and no VL arbitration (qos)";
    } else if (options.hosts.window_packets != 0) {
        lacks = "windows (window)";
    } else if (options.hosts.message_gap_ps != 0) {
        lacks = "limit on messages a second (message_rate)";
    } else if (options.hosts.context_entries != 0) {
        lacks = "limit on connections that an HCA holds (contexts)";
    } else if (std::ranges::any_of(options.failures,
                                   [](const Failure& failure) { return failure.at != 0; })) {
        lacks = "failures during a run";
    }
    if (lacks.empty()) {
        return {};
    }
    return std::unexpected(topo::Error{
        fmt::format("the flow model has no {}: leave that out, or take the model packet", lacks)});
}

WireFormat wire_of(const MessageConfig& hosts) {
    return {.mtu = hosts.mtu,
            .header_bytes = hosts.header_bytes,
            .first_header_bytes = hosts.first_header_bytes};
}

}  // namespace

std::expected<std::unique_ptr<FlowSimulation>, topo::Error> FlowSimulation::make(
    topo::Fabric fabric, const SimulationOptions& options) {
    if (auto checked = check_flow_options(options); !checked) {
        return std::unexpected(checked.error());
    }
    auto start = route_at_start(std::move(fabric), options);
    if (!start) {
        return std::unexpected(start.error());
    }
    if (options.sl_max != 0) {
        start->notes.emplace_back(
            "the flow model has no lanes: the service levels of the traffic change nothing");
    }
    return std::unique_ptr<FlowSimulation>(new FlowSimulation(*std::move(start), options));
}

FlowSimulation::FlowSimulation(StartingRoutes start, const SimulationOptions& options)
    : options_(options),
      start_(std::move(start)),
      engine_(start_.routed.engine_names()),
      network_(
          start_.routed, options_.plant, options_.hosts.adaptive,
          {.out_block_ps = std::max(options_.hosts.inject_block_ps, options_.hosts.pcie_block_ps),
           .in_block_ps = options_.hosts.pcie_block_ps},
          options_.hosts.mtu + std::uint32_t{options_.hosts.header_bytes} + kGrhBytes),
      model_(network_, {.wire = wire_of(options_.hosts)}),
      paths_(start_.routed) {}

void FlowSimulation::send(const net::Message& message, TimePs at) {
    SOFTIB_CHECK(message.from < end_count() && message.to < end_count() && at >= now_);
    ++unfinished_;
    if (!model_.add({.from = message.from,
                     .to = message.to,
                     .bytes = message.bytes,
                     .start = at,
                     .tag = message.tag})) {
        push(at, message.tag, 0, MessageEvent::kFailed);
    }
}

void FlowSimulation::push(TimePs at, std::uint64_t tag, TimePs latency, MessageEvent event) {
    due_.push_back({at, pushed_++, tag, latency, event});
    std::ranges::push_heap(due_, Later{});
}

bool FlowSimulation::run_some(TimePs until, std::uint32_t events_max) {
    for (; events_max != 0; --events_max) {
        if (idle()) {
            return true;
        }
        // Flows go first, since what ends at a time may have to be told at that time. So a listener
        // never sends earlier than what flows have done already.
        const TimePs flows_at = model_.next();
        const TimePs told_at = due_.empty() ? kNever : due_.front().at;
        const TimePs at = std::min(flows_at, told_at);
        if (at > until) {
            model_.pass(until);
            now_ = std::max(now_, until);
            return true;
        }
        now_ = std::max(now_, at);
        ++events_;
        if (told_at < flows_at) {
            tell_next();
            continue;
        }
        for (const Completion& done : model_.step()) {
            push(done.delivered, done.tag, done.delivered - done.sent, MessageEvent::kDelivered);
        }
        for (const Begun& each : model_.begun()) {
            if (listener_ != nullptr) {
                listener_->handle_begin(each.tag, each.at);
            }
        }
    }
    return false;
}

/// Tells the listener of the event that is due next. If the sender learns of a delivery in no time,
/// the message is acknowledged at once.
void FlowSimulation::tell_next() {
    std::ranges::pop_heap(due_, Later{});
    const Due due = due_.back();
    due_.pop_back();
    log_hash_ += mix(mix(due.at) ^ due.tag << 2 ^ static_cast<std::uint64_t>(due.event));
    const bool at_once = options_.hosts.ack_bytes == 0 || due.latency == 0;
    if (due.event == MessageEvent::kDelivered && !at_once) {
        push(due.at + due.latency, due.tag, 0, MessageEvent::kAcknowledged);
    } else {
        --unfinished_;
    }
    if (listener_ == nullptr) {
        return;
    }
    listener_->handle_message(due.tag, due.event, due.at);
    if (due.event == MessageEvent::kDelivered && at_once) {
        listener_->handle_message(due.tag, MessageEvent::kAcknowledged, due.at);
    }
}

ModelStats FlowSimulation::stats() const {
    return {.events = events_, .log_hash = log_hash_};
}

std::vector<net::LinkLoad> FlowSimulation::links() const {
    const std::vector<LinkLoad> loads = model_.link_loads();
    const std::vector<topo::Node>& nodes = start_.routed.topology.nodes;
    std::vector<net::LinkLoad> links;
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
        for (std::size_t port = 1; port < nodes[node].ports.size(); ++port) {
            const topo::PortLink& cable = nodes[node].ports[port];
            if (cable.peer == topo::kNoNode) {
                continue;
            }
            const auto number = static_cast<std::uint8_t>(port);
            const LinkLoad& load = loads[network_.link_of(node, number)];
            const TimePs block_ps = link::ps_per_block(cable.generation, cable.width);
            links.push_back(
                {.at = {node, number},
                 .peer = {cable.peer.value, cable.peer_port.value},
                 .bytes = load.bytes,
                 .busy_ps = block_ps * load.bytes / link::kBlockBytes,
                 .full_ps = load.full_ps,
                 .gbps = 8.0 * link::kBlockBytes * 1000 / static_cast<double>(block_ps)});
        }
    }
    return links;
}

std::vector<net::Hop> FlowSimulation::path(std::uint32_t from, std::uint32_t to) const {
    return paths_.find(network_.node_of(from), network_.node_of(to));
}

}  // namespace softib::net::flow
