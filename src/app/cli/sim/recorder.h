// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --record`: writes the counters of every port, at steps of virtual time, into a file.
// `softib serve --recording` shows the file while the simulation runs and afterwards.

#include <expected>
#include <map>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "net/model.h"
#include "telemetry/recording.h"

namespace softib::app::sim {

class Recorder {
  public:
    /// `step`: the virtual time between two readings, not 0.
    static std::expected<Recorder, std::string> create(const topo::Fabric& fabric,
                                                       const std::string& path, net::TimePs step);

    /// Returns the virtual time at which look() must be called next.
    net::TimePs next_at() const { return next_; }
    /// Records a model in which everything before `at` has happened.
    void look(const net::Model& model, net::TimePs at);
    /// Records the model for the last time, and ends the file.
    void finish(const net::Model& model);
    /// Returns what went wrong with the file; empty: nothing.
    const std::string& error() const { return error_; }

  private:
    Recorder(telemetry::RecordingWriter writer, telemetry::Inventory inventory, net::TimePs step);

    telemetry::RecordingWriter writer_;
    telemetry::Inventory inventory_;
    /// Index of each port in the inventory, by node and port number.
    std::map<net::Hop, std::uint32_t> ports_;
    std::vector<telemetry::PortCounts> counts_;
    net::TimePs step_;
    net::TimePs next_ = 0;
    net::TimePs last_ = 0;
    std::string error_;
};

}  // namespace softib::app::sim
