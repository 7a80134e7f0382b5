// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --record`: writes what every port has counted, at steps of virtual time, into a file
// that `softib serve --recording` shows while the simulation runs and afterwards.

#include <expected>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/topo/fabric.h"
#include "net/model.h"
#include "telemetry/recording.h"

namespace softib::app::sim {

struct RecordOptions {
    std::string path = {};           ///< Empty: nothing is recorded.
    net::TimePs step = 100'000'000;  ///< Between two readings; not 0.
    /// Called when the file has its first reading, before anything happens; an error ends the run.
    std::function<std::expected<void, std::string>()> begun = {};
};

class Recorder {
  public:
    static std::expected<Recorder, std::string> create(const topo::Fabric& fabric,
                                                       const RecordOptions& options);

    /// When the model must be looked at next.
    net::TimePs next_at() const { return next_; }
    /// Looks at a model for which everything before `at` has happened.
    void look(const net::Model& model, net::TimePs at);
    /// Looks for the last time.
    void finish(const net::Model& model);
    /// What went wrong with the file; empty: nothing.
    const std::string& error() const { return error_; }

  private:
    Recorder(telemetry::RecordingWriter writer, telemetry::Inventory inventory, net::TimePs step);

    telemetry::RecordingWriter writer_;
    telemetry::Inventory inventory_;
    std::map<net::Hop, std::uint32_t> ports_;  ///< Of the inventory, by node and number.
    std::vector<telemetry::PortCounts> counts_;
    net::TimePs step_;
    net::TimePs next_ = 0;
    net::TimePs last_ = 0;
    std::string error_;
};

}  // namespace softib::app::sim
