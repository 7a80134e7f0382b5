// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads any subnet through libibumad: discovers its nodes and cables from time to time, and reads
// all counters at each reading. A node that does not answer keeps its last counts and is listed in
// Sample::silent.
//
// Thread rule: one thread.

#include <memory>
#include <string>

#include "telemetry/source.h"
#include "umad/port.h"

namespace softib::telemetry {

class MadSource final : public Source {
  public:
    MadSource(std::string device, int port) : device_(std::move(device)), number_(port) {}

    std::expected<void, std::string> check() override { return open(); }
    std::expected<Reading, std::string> read() override;
    std::string name() const override;

  private:
    std::expected<void, std::string> open();
    std::expected<void, std::string> discover();
    /// Sends and receives the MADs of a client until it is done. Returns false if the port is gone.
    template <typename Client>
    bool drive(Client& client);

    std::string device_;
    int number_;
    std::unique_ptr<umad::Port> port_;
    std::shared_ptr<const Inventory> inventory_;
    std::vector<PortState> states_;
    std::vector<std::string> silent_;
    std::vector<PortCounts> last_;
    std::uint64_t next_discovery_ns_ = 0;
    std::uint32_t readings_ = 0;
};

}  // namespace softib::telemetry
