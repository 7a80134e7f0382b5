// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Plays sets of flows by max-min fair rates (net/flow), without messages: all flows begin at once,
// and rates change when flows end. The solver sees flows whose paths differ only in their NICs as
// one flow with a weight, so that its work grows with the number of pairs of leaf switches: the
// traffic of 16,384 NICs takes a fraction of a second.
//
// First the links of NICs are divided among their flows, then the links between switches among what
// the NICs send. A NIC whose flow the fabric holds back does not give the rest to its other flows.
// So a set may take a little longer here than with rates that are fair on all links at once, and
// never less.

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/flow/fair_rates.h"
#include "net/flow/flow_network.h"
#include "net/flow/wire_format.h"
#include "net/sim/simulation.h"
#include "plan/collective/stage.h"

namespace softib::plan {

class FlowStage : public Stage {
  public:
    /// Makes a stage whose links carry `speed_factor` times their generation's rate.
    static std::expected<std::unique_ptr<Stage>, std::string> make(
        topo::Fabric fabric, const net::SimulationOptions& options, double speed_factor);
    FlowStage(const FlowStage&) = delete;
    FlowStage& operator=(const FlowStage&) = delete;

    std::expected<Played, std::string> play(const Flows& flows, double flow_bytes_per_s) override;

  private:
    /// A path between leaf switches that several flows have in common.
    struct Way {
        std::vector<net::flow::Hop> hops = {};
        net::TimePs latency = 0;
    };
    /// A flow that has not ended. Bytes are those on the wire.
    struct Moving {
        std::uint32_t out = 0;  ///< Link from the sending NIC.
        std::uint32_t in = 0;   ///< Link to the receiving NIC.
        std::uint32_t way = 0;  ///< Position of its Way.
        double left = 0;        ///< Bytes that are not sent yet.
        double limit = 0;       ///< Highest rate of the flow in bytes per second; 0: no limit.
        double rate = 0;        ///< Bytes per second.
    };
    /// The ends of a Way: two leaf switches if routing is adaptive, else a leaf and an end port,
    /// since forwarding tables are by destination.
    using WayKey = std::pair<std::uint32_t, std::uint32_t>;

    FlowStage(net::StartingRoutes start, const net::SimulationOptions& options,
              double speed_factor);
    std::expected<std::uint32_t, std::string> find_way(const NicFlow& flow,
                                                       std::map<WayKey, std::uint32_t>& known,
                                                       std::vector<Way>& ways) const;
    std::optional<double> common_rate(const std::vector<Moving>& moving) const;
    void share_nics(std::vector<Moving>& moving) const;
    bool carries(const std::vector<Moving>& moving, const std::vector<Way>& ways) const;
    void share_switches(std::vector<Moving>& moving, const std::vector<Way>& ways) const;

    net::StartingRoutes start_;
    net::flow::FlowNetwork network_;
    net::flow::WireFormat wire_;
    double speed_factor_;
};

}  // namespace softib::plan
