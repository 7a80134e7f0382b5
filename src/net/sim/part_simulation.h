// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One part of a fabric at packet level (partition.h), with hosts that carry messages. The parts of
// one fabric, each on a thread or a process of its own, together do what one Simulation does, to
// the last bit. Each part has a listener of its own, which is told of deliveries to hosts of the
// part and of acknowledgements and failures of messages that they sent, and may send messages from
// them. Tags must differ between parts.
//
// All parts call run_some() until it returns true, with the same times. Each part applies failures
// and finds the new routes by itself, at the same times. Tags of the messages of one sender must
// grow in the order in which it begins them.

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/hosts/message_hosts.h"
#include "net/model.h"
#include "net/sim/partition.h"
#include "net/sim/paths.h"
#include "net/sim/repairs.h"
#include "net/sim/run_control.h"
#include "net/sim/simulation.h"

namespace softib::net {

/// What all parts of one run have in common.
struct PartedFabric {
    StartingRoutes start;
    SimulationOptions options = {};
    std::uint32_t parts = 1;
    std::vector<std::uint32_t> part_of = {};  ///< By node: its part.

    /// Routes a fabric and cuts it into parts. The message of the error says what does not fit and
    /// what to do.
    static std::expected<PartedFabric, topo::Error> make(topo::Fabric fabric,
                                                         const SimulationOptions& options,
                                                         std::uint32_t parts);
};

/// The results of one part of a run. Those of all parts together are the results of a Simulation.
struct PartTotals {
    std::vector<LinkLoad> links = {};
    ModelStats stats = {};
    TimePs now = 0;
    std::uint64_t unfinished = 0;
};

class PartSimulation : public Model {
  public:
    /// `whole` and `exchange` must outlive the simulation.
    PartSimulation(const PartedFabric& whole, std::uint32_t part, Exchange& exchange);
    PartSimulation(const PartSimulation&) = delete;
    PartSimulation& operator=(const PartSimulation&) = delete;

    std::uint32_t end_count() const override { return static_cast<std::uint32_t>(ends_.size()); }
    bool has_end(std::uint32_t end) const override { return ends_[end].port != kNone; }
    TimePs now() const override { return totals_ ? totals_->now : net_.engine().now(); }
    void send(const Message& message, TimePs at) override;
    void set_listener(MessageListener* listener) override { hosts_.set_listener(listener); }
    /// `events_max` counts the events of this part; the window in which they are reached is
    /// finished.
    bool run_some(TimePs until, std::uint32_t events_max) override;
    /// Makes run_some() return true in all parts soon.
    void stop() { wants_stop_ = true; }
    /// Returns whether one of the parts was told to stop.
    bool stopped() const { return stopped_; }
    bool idle() const override { return idle_; }
    ModelStats stats() const override;
    std::uint64_t events() const override { return net_.engine().stats().events; }
    std::uint64_t packets_delivered() const override { return net_.engine().stats().delivered; }
    std::vector<LinkLoad> links() const override;
    std::vector<Hop> path(std::uint32_t from, std::uint32_t to) const override;
    const std::string& engine() const override { return control_.engines().front(); }
    std::uint8_t data_vls() const override { return whole_.start.data_vls; }
    std::uint64_t unfinished() const override;
    std::vector<Partial> partial() const override { return hosts_.partial(); }
    const std::vector<std::string>& notes() const override { return control_.notes(); }
    std::vector<std::string> check() const override;

    /// Returns the results of this part.
    PartTotals totals() const;
    /// Makes this part answer for all parts from now on. `all` has the totals of each.
    void take_totals(std::vector<PartTotals> all);

    // As RunControl wants it.
    std::uint64_t all_hops() { return exchange_.sum(net_.engine().stats().hops); }
    std::uint64_t all_ports() const { return ports_of_all_; }
    Engine& running() { return net_.engine(); }
    void fail(const Hop& what);
    const topo::Fabric& damaged() const { return damaged_; }
    void take_routes(Routed routed);

  private:
    struct End {
        std::uint32_t node = 0;  ///< Number of the HCA in the whole fabric.
        std::uint32_t part = 0;
        std::uint32_t port = kNone;  ///< Number of its port here; kNone: it is in another part.
        Lid lid;
    };
    enum class Turn { kGoOn, kDone };

    /// Returns the present routes: those of the last repair, else those of the start.
    const Routed& routed() const { return repaired_ ? *repaired_ : whole_.start.routed; }
    void add_ends();
    void configure();
    void write_routes();
    void write_qos();
    MessageHosts::News news_of(const Crossing& crossing) const;
    void take(const Crossing& crossing);
    void hand_over();
    std::uint32_t port_at(std::uint32_t end) const;
    const End& end_at(std::uint32_t port) const;
    MessageHosts::Send make_send(std::uint32_t from, std::uint32_t to) const;
    Turn run_window(TimePs until);

    const PartedFabric& whole_;
    std::uint32_t number_;
    Exchange& exchange_;
    Part part_;
    MessageHosts hosts_;
    MessageHosts::Net net_;
    std::vector<End> ends_ = {};
    std::vector<std::uint32_t> end_of_lid_ = {};
    std::vector<std::uint32_t> end_of_port_ = {};
    TimePs lookahead_ = 0;
    std::uint64_t ports_of_all_ = 0;
    bool begun_ = false;
    bool between_looks_ = false;
    bool wants_stop_ = false;
    bool stopped_ = false;
    bool idle_ = false;
    RunControl control_;
    /// The fabric without what has failed; empty if nothing will fail.
    topo::Fabric damaged_ = {};
    std::unique_ptr<Routed> repaired_ = {};
    std::optional<Paths> paths_;
    std::unique_ptr<PartTotals> totals_ = {};  ///< Results of all parts, after take_totals().
};

}  // namespace softib::net
