// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A whole fabric at packet level as a value: made from a description and options, told which
// messages to carry, run in steps or to its end, asked for what happened. Any number of them live
// side by side, and the same description, options and messages give the same run to the last bit
// (ModelStats::log_hash).
//
// Cables and switches that fail during a run stop at once. The subnet manager's answer, new routes
// without what failed, follows after SimulationOptions::repair_ps.

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/switch/congestion.h"
#include "core/topo/fabric.h"
#include "net/fabric.h"
#include "net/failures.h"
#include "net/hosts/message_hosts.h"
#include "net/model.h"
#include "net/plant.h"

namespace softib::net {

/// IBA congestion control: when switches mark, and how adapters slow down. These values keep a
/// flow that only passes by an incast at four fifths of its fair share (congestion_test.cc).
struct CongestionControl {
    sw::MarkingRule marking{.threshold = 1, .packet_blocks = 8};
    CongestionReaction reaction{.rule = {.timer = 5},
                                .table = link::DelayTable::geometric(12, 13, 127)};
};

struct SimulationOptions {
    std::string engine = "auto";
    /// `data_vls` 0: as many lanes as the routes use.
    PlantConfig plant{.data_vls = 0};
    MessageConfig hosts = {};
    std::uint8_t sl_max = 0;  ///< The highest service level that messages ask for.
    std::optional<CongestionControl> congestion = {};
    std::vector<Failure> failures = {};
    TimePs repair_ps = 100'000'000;  ///< From a failure to new routes; kNever: there are none.
};

/// Whether packets of these options fit into buffers and lanes.
std::expected<void, topo::Error> check_options(const SimulationOptions& options);

/// A fabric with the routes that a model of it has at its beginning.
struct StartingRoutes {
    Routed routed;
    std::uint8_t data_vls = 1;
    std::vector<std::string> notes = {};
};
/// Routes a fabric without what has failed from the beginning. If that has cost it the shape that
/// its engine is for, another engine takes over, and a note says so.
std::expected<StartingRoutes, topo::Error> route_at_start(topo::Fabric fabric,
                                                          const SimulationOptions& options);

class Simulation : public Model {
  public:
    /// The message says what does not fit and what to do.
    static std::expected<Simulation, topo::Error> make(topo::Fabric fabric,
                                                       const SimulationOptions& options);
    Simulation(Simulation&&) noexcept;
    Simulation& operator=(Simulation&&) noexcept;
    ~Simulation() override;

    std::uint32_t end_count() const override;
    TimePs now() const override;
    void send(const Message& message, TimePs at) override;
    void set_listener(MessageListener* listener) override;
    bool run_some(TimePs until, std::uint32_t events_max) override;
    bool idle() const override;
    ModelStats stats() const override;
    std::uint64_t events() const override;
    std::uint64_t packets_delivered() const override;
    std::vector<LinkLoad> links() const override;
    std::vector<Hop> path(std::uint32_t from, std::uint32_t to) const override;

    const std::string& engine() const override;
    std::uint8_t data_vls() const override;
    std::uint64_t unfinished() const override;
    const std::vector<std::string>& notes() const override;
    /// Whether credits and counters add up: a line for each port where they do not.
    std::vector<std::string> check() const override;
    /// As it is now: without what has failed.
    const topo::Fabric& fabric() const;
    /// Bytes of memory, without the description.
    std::size_t bytes() const;

  private:
    struct State;
    explicit Simulation(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace softib::net
