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

#include "core/sm/qos.h"
#include "core/topo/graph.h"
#include "net/engine/engine.h"
#include "net/hosts/message_hosts.h"
#include "net/manage/congestion_manager.h"
#include "net/model.h"
#include "net/plant/plant.h"
#include "net/sim/fabric.h"
#include "net/sim/failures.h"

namespace softib::net {

/// Options of a fabric with Ethernet switches and with adapters that speak RoCEv2.
struct RoceOptions {
    /// How switches choose among equally good ports.
    enum class Ecmp : std::uint8_t {
        kTables,      ///< They do not choose, but follow their tables.
        kFiveTuple,   ///< By a hash of the two ends: all packets of a pair go one way.
        kConnection,  ///< By the same hash with a UDP source port for each connection.
        kSpray,       ///< Each packet to the next port.
        kLoad,        ///< Each packet to the port with the least to do.
    };
    Ecmp ecmp = Ecmp::kFiveTuple;
    /// Rules of the links. With these defaults a queue is marked before its senders are paused, as
    /// long as several ports fill it.
    EthernetRules links{.xoff_bytes = 128U << 10,
                        .xon_bytes = 96U << 10,
                        .buffer_bytes = 64U << 20,
                        .ecn = {.low_blocks = 1024, .high_blocks = 4096, .most = 0.1}};
    RoceConfig hosts = {};
};

struct SimulationOptions {
    std::string engine = "auto";  ///< Name of the routing engine.
    /// `data_vls` 0: as many lanes as the routes use.
    PlantConfig plant{.data_vls = 0};
    MessageConfig hosts = {};
    std::uint8_t sl_max = 0;  ///< The highest service level that messages ask for.
    /// Lanes and their arbitration, which a subnet manager writes into all nodes if `on`; on
    /// InfiniBand only. `max_op_vls` limits the lanes that routing engines may use, `on` or not.
    sm::QosConfig qos = {};
    /// Congestion control that a congestion manager writes into all nodes; on InfiniBand only.
    std::optional<CongestionControl> congestion = {};
    /// Makes the fabric Ethernet. Then hosts.adaptive, hosts.roce, the sizes of headers and
    /// `congestion` are ignored.
    std::optional<RoceOptions> roce = {};
    std::vector<Failure> failures = {};
    TimePs repair_ps = 100'000'000;  ///< Time from a failure to new routes; kNever: none.
};

/// Returns the time from the first bit in to the first bit out of a switch.
TimePs switch_time(const SimulationOptions& options, topo::Generation generation);
/// Returns whether switches choose among ports.
bool switches_choose(const SimulationOptions& options);
/// Returns whether the routes decide which service levels and lanes packets take.
bool routes_need_lanes(const routing::Tables& tables);
/// Returns an error if packets of these options do not fit into buffers and lanes.
std::expected<void, topo::Error> check_options(const SimulationOptions& options);

/// A fabric with the routes that a model of it has at its beginning.
struct StartingRoutes {
    Routed routed;
    std::uint8_t data_vls = 1;
    std::vector<std::string> notes = {};
};
/// Routes a fabric without what has failed from the beginning. If the fabric has lost the shape
/// that its routing engine is for, another engine takes over, and a note says so.
std::expected<StartingRoutes, topo::Error> route_at_start(topo::Fabric fabric,
                                                          const SimulationOptions& options);

class Simulation : public Model {
  public:
    /// Routes a fabric and makes its simulation. The message of the error says what does not fit
    /// and what to do.
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
    std::vector<Partial> partial() const override;
    const std::vector<std::string>& notes() const override;
    /// Returns a line for each port where credits or counters do not add up, and for lanes that are
    /// stuck.
    std::vector<std::string> check() const override;
    /// Returns the fabric as it is now: without what has failed.
    const topo::Fabric& fabric() const;
    /// Returns the bytes of memory that the simulation takes, without the description.
    std::size_t bytes() const;

  private:
    struct State;
    explicit Simulation(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace softib::net
