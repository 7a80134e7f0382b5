// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the server may change in a fabric: cables, switches, partitions, routes. A fabric that can
// only be read (real hardware, or a recorded simulation) has no Controls.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "core/base/ids.h"

namespace softib::server {

class Controls {
  public:
    Controls() = default;
    Controls(const Controls&) = delete;
    Controls& operator=(const Controls&) = delete;
    virtual ~Controls() = default;
    using Done = std::expected<void, std::string>;

    /// Pulls the cable at a port ("leaf0", 3), or puts it back.
    virtual Done set_link(const std::string& node, std::uint8_t port, bool up) = 0;
    virtual Done set_switch(const std::string& name, bool on) = 0;
    /// Returns the fabric's partitions.conf; empty if there is only the default partition.
    virtual std::string partitions() = 0;
    /// Replaces partitions.conf, and waits until the subnet manager has written the P_Keys to all
    /// ports.
    virtual Done set_partitions(const std::string& text) = 0;
    virtual Done resweep() = 0;
    /// Writes one entry of a switch's forwarding table. Without a port, packets to this LID are
    /// dropped.
    virtual Done set_route(const std::string& switch_name, Lid lid,
                           std::optional<std::uint8_t> port) {
        static_cast<void>(lid);
        static_cast<void>(port);
        return std::unexpected("routes of " + switch_name + " cannot be changed on this fabric");
    }
};

/// Controls a softib fabric through its daemon.
class DaemonControls final : public Controls {
  public:
    explicit DaemonControls(std::string dir) : dir_(std::move(dir)) {}

    Done set_link(const std::string& node, std::uint8_t port, bool up) override;
    Done set_switch(const std::string& name, bool on) override;
    std::string partitions() override;
    Done set_partitions(const std::string& text) override;
    Done resweep() override;
    Done set_route(const std::string& switch_name, Lid lid,
                   std::optional<std::uint8_t> port) override;

  private:
    std::string dir_;
};

}  // namespace softib::server
