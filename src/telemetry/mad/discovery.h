// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Finds the nodes, ports and cables of a subnet by directed-route SMPs, and changes nothing in the
// subnet. The caller sends and receives the MADs and provides the time.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/sm/smp_client.h"
#include "core/wire/mad/mad.h"
#include "telemetry/inventory.h"
#include "telemetry/source.h"

namespace softib::telemetry {

class Discovery {
  public:
    explicit Discovery(const sm::SmpClient::Limits& limits);

    std::optional<wire::MadBytes> poll_transmit(std::uint64_t now_ns);
    void handle(const wire::MadBytes& mad);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return client_.next_timeout_ns(); }
    bool done() const { return queue_.empty() && client_.idle(); }

    /// Returns the nodes and ports that were found.
    Inventory inventory() const;
    /// Returns the states of ports, in the order of the inventory's ports.
    std::vector<PortState> states() const;
    /// Returns the names of nodes, or "what is behind leaf0:3", that did not answer.
    const std::vector<std::string>& silent() const { return silent_; }

  private:
    struct FoundPort {
        wire::PortInfo info;
        sm::NodeIndex peer = sm::kNoNode;
        std::uint8_t peer_port = 0;
    };
    struct FoundNode {
        wire::NodeInfo info;
        std::string description;
        sm::DirectedPath path;
        /// All ports of a switch; of an HCA, those at which discovery arrived by a cable.
        std::map<std::uint8_t, FoundPort> ports;
        bool is_switch() const { return info.node_type == wire::NodeType::kSwitch; }
    };

    void ask(sm::Purpose purpose, wire::SmAttribute attribute, std::uint32_t modifier,
             const sm::DirectedPath& path);
    void take(const sm::SmpAnswer& answer);
    void take_node(const sm::SmpAnswer& answer);
    void take_port(const sm::SmpAnswer& answer);
    void read_node(sm::NodeIndex index, std::uint8_t arrival);

    sm::SmpClient client_;
    std::deque<sm::SmpRequest> queue_;
    std::vector<FoundNode> nodes_;
    std::map<std::uint64_t, sm::NodeIndex> by_guid_;
    std::vector<std::string> silent_;
};

}  // namespace softib::telemetry
