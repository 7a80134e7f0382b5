// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/simulation.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "core/routing/engine.h"
#include "core/topo/subnets.h"
#include "net/engine/inspector.h"
#include "net/engine/routers.h"
#include "net/manage/congestion_manager.h"
#include "net/manage/lane_manager.h"
#include "net/sim/fabric.h"
#include "net/sim/paths.h"
#include "net/sim/run_control.h"

namespace softib::net {

namespace {

/// Sets the options of hosts and links for Ethernet.
void use_roce(SimulationOptions& options) {
    using Ecmp = RoceOptions::Ecmp;
    using Spread = EthernetRules::Spread;
    RoceOptions& roce = *options.roce;
    options.hosts.roce = roce.hosts;
    options.hosts.roce->by_connection = roce.ecmp == Ecmp::kConnection;
    options.hosts.header_bytes = kRoceHeaderBytes;
    options.hosts.ack_bytes = kRoceAckBytes;
    roce.links.spread = roce.ecmp == Ecmp::kSpray  ? Spread::kPackets
                        : roce.ecmp == Ecmp::kLoad ? Spread::kLoad
                                                   : Spread::kFlows;
}

std::vector<std::string> engines_of(const Routed& routed) {
    std::vector<std::string> engines;
    for (std::uint16_t subnet = 0; subnet < routed.subnets(); ++subnet) {
        engines.push_back(routed.tables_in(SubnetId{subnet}).engine);
    }
    return engines;
}

/// Returns how much of its buffer a switch needs to lose nothing, on Ethernet with pauses.
std::uint64_t pause_bytes(const Engine& net, std::uint32_t node) {
    const Plant& plant = net.plant();
    std::uint64_t blocks = 0;
    for (std::uint8_t number = 1; number < plant.ports_of(node); ++number) {
        if (const std::uint32_t port = plant.port_of(node, number); plant.connected(port)) {
            blocks += net.ethernet()->pause_blocks(plant.peer(port));
        }
    }
    return blocks * plant.config().data_vls * link::kBlockBytes;
}

/// Returns the port by which a switch sends a flow on, where a hash of the flow decides.
std::uint8_t hashed_route(const Engine& net, std::uint32_t node, Lid source, Lid destination,
                          std::uint8_t entropy) {
    const std::span<const std::uint8_t> ports = net.plant().choices(node, destination);
    return ports.size() < 2
               ? net.plant().route(node, destination)
               : net.ethernet()->hashed_port(ports, node, source, destination, entropy);
}

}  // namespace

struct Simulation::State {
    /// The tables of the switches, as paths are followed by them (paths.h).
    struct View;
    State(Routed routed, RunControl::Repairer repairer, SimulationOptions wanted)
        : options(std::move(wanted)),
          engine(routed.engine_names()),
          fabric(std::move(routed), options.plant, 0, options.hosts),
          control(plan_changes(options.failures, options.repair_ps), std::move(repairer),
                  fabric.engine().plant().port_count()) {}

    void configure();
    void find_routers();
    void write_qos();
    std::expected<void, topo::Error> check_pauses() const;
    void refuse();
    // As RunControl wants it.
    std::uint64_t all_hops() const { return net().stats().hops; }
    std::uint64_t all_ports() const { return net().plant().port_count(); }
    Engine& running() { return fabric.engine(); }
    void fail(const Hop& what);
    const topo::Fabric& damaged() const { return fabric.topology(); }
    void take_routes(Routed routed);
    bool connected(std::uint32_t end) const {
        return net().plant().connected(net().plant().port_of(fabric.node(end), 1));
    }
    /// Returns whether both ends have a cable and, between subnets, a router leads from one to the
    /// other.
    bool joined(std::uint32_t from, std::uint32_t to) const {
        return connected(from) && connected(to) &&
               (routers == nullptr || !routers->apart(fabric.port(from), fabric.port(to)) ||
                routers->crossing(fabric.port(from), fabric.port(to)));
    }
    const Engine& net() const { return fabric.engine(); }

    SimulationOptions options;
    std::string engine;  ///< Routing engines, as text for users.
    Fabric<MessageHosts> fabric;
    MessageListener* listener = nullptr;
    struct Refused {
        std::uint64_t tag;
        TimePs at;
    };
    std::vector<Refused> refused;  ///< Messages between ends that are not joined().
    RunControl control;
    std::unique_ptr<Routers> routers;  ///< Null if there is one subnet.
};

void Simulation::State::configure() {
    if (options.hosts.adaptive) {
        SOFTIB_CHECK(fabric.use_adaptive_routing());
    }
    Engine& net = fabric.engine();
    if (fabric.subnets() > 1) {
        find_routers();
        net.use_routers(routers.get(), &fabric.ends());
        fabric.ends().set_routers(routers.get());
    }
    if (options.roce) {
        net.use_ethernet(options.roce->links);
    } else if (options.congestion) {
        manage_congestion(
            net.plant(), fabric.topology(), *options.congestion,
            [](std::uint32_t node) { return node; },
            [&](std::uint32_t port, const link::InjectionControl& written) {
                fabric.ends().control_congestion(port, written);
            });
    }
    for (std::uint32_t end = 0; options.hosts.pcie_block_ps != 0 && end < fabric.host_count();
         ++end) {
        if (connected(end)) {
            net.ports().set_slow(fabric.port(end), options.hosts.pcie_block_ps);
        }
    }
    write_qos();
    fabric.forget_forwarding();  // The plant has the tables.
    const sw::WaitingLimits limits{options.plant.lifetime, options.plant.hoq_life};
    if (!options.roce && !control.has_changes() && !limits.any()) {
        net.use_windows();
    }
}

void Simulation::State::write_qos() {
    if (options.qos.on) {
        manage_lanes(fabric.engine(), fabric.topology(), options.qos,
                     routes_need_lanes(fabric.tables()), [](std::uint32_t node) { return node; });
    }
}

/// Finds the routers that have cables, as the SA of each subnet would.
void Simulation::State::find_routers() {
    Routers found(fabric.topology(), fabric.lids(), net().plant(), options.plant.data_vls);
    if (routers == nullptr) {
        routers = std::make_unique<Routers>(std::move(found));
    } else {
        *routers = std::move(found);  // In place, since engine and hosts point to them.
    }
}

/// Returns an error if a switch's buffer has no room for what may come after the switch tells its
/// senders to pause.
std::expected<void, topo::Error> Simulation::State::check_pauses() const {
    if (!options.roce || !options.roce->links.lossless) {
        return {};
    }
    for (std::uint32_t node = 0; node < net().plant().node_count(); ++node) {
        const std::uint64_t needed = net().plant().is_switch(node) ? pause_bytes(net(), node) : 0;
        if (needed > options.roce->links.buffer_bytes) {
            return std::unexpected(topo::Error{fmt::format(
                "{} needs {} bytes of buffer to pause its senders without loss (XOFF and headroom "
                "of every port and lane) and has {}: take a larger --switch-buffer, a smaller "
                "--pfc-xoff, or --pfc off",
                fabric.topology().nodes[node].name, needed, options.roce->links.buffer_bytes)});
        }
    }
    return {};
}

/// Tells of messages that could not begin. The listener may send further ones of the same kind
/// then.
void Simulation::State::refuse() {
    for (std::size_t i = 0; i < refused.size(); ++i) {
        if (listener != nullptr) {
            const Refused each = refused[i];
            listener->handle_message(each.tag, MessageEvent::kFailed,
                                     std::max(each.at, net().now()));
        }
    }
    refused.clear();
}

void Simulation::State::fail(const Hop& what) {
    Engine& net = fabric.engine();
    if (what.port == 0) {
        net.ports().set_node(what.node, false);
    } else if (const std::uint32_t port = net.plant().port_of(what.node, what.port);
               net.plant().connected(port)) {
        net.ports().set_link(port, false);
    }
    fabric.take_out(what);
    fabric.net().run(net.now());  // So that the ends hear of packets that were dropped.
}

void Simulation::State::take_routes(Routed routed) {
    engine = routed.engine_names();
    fabric.change_routes(std::move(routed));
    if (routers != nullptr) {
        find_routers();
    }
    if (options.hosts.adaptive) {
        fabric.use_adaptive_routing();
    }
    write_qos();
    fabric.forget_forwarding();
}

Simulation::Simulation(std::unique_ptr<State> state) : state_(std::move(state)) {}
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;
Simulation::~Simulation() = default;

std::expected<Simulation, topo::Error> Simulation::make(topo::Fabric fabric,
                                                        const SimulationOptions& options) {
    if (auto checked = check_options(options); !checked) {
        return std::unexpected(checked.error());
    }
    auto start = route_at_start(std::move(fabric), options);
    if (!start) {
        return std::unexpected(start.error());
    }
    SimulationOptions chosen = options;
    chosen.plant.data_vls = start->data_vls;
    if (start->routed.subnets() > 1) {
        chosen.plant.lid_max = std::ranges::max(start->routed.lids).value;
    }
    chosen.hosts.news_ps = options.plant.cable_ps;
    chosen.hosts.adaptive = switches_choose(options) && start->routed.has_choice();
    if (options.roce) {
        use_roce(chosen);
    }
    RunControl::Repairer repairer{
        .options = {.data_vls = chosen.plant.data_vls,
                    .adaptive = chosen.hosts.adaptive,
                    .misses_choice = chosen.hosts.adaptive && !chosen.roce},
        .engines = engines_of(start->routed),
        .notes = std::move(start->notes)};
    auto state =
        std::make_unique<State>(std::move(start->routed), std::move(repairer), std::move(chosen));
    state->configure();
    if (auto checked = state->check_pauses(); !checked) {
        return std::unexpected(checked.error());
    }
    return Simulation(std::move(state));
}

std::uint32_t Simulation::end_count() const {
    return state_->fabric.host_count();
}

TimePs Simulation::now() const {
    return state_->net().now();
}

void Simulation::send(const Message& message, TimePs at) {
    State& state = *state_;
    SOFTIB_CHECK(message.from < end_count() && message.to < end_count());
    if (!state.joined(message.from, message.to)) {
        state.refused.push_back({message.tag, at});
        return;
    }
    const Fabric<MessageHosts>& fabric = state.fabric;
    const bool routes_decide = routes_need_lanes(fabric.tables());
    state.fabric.ends().post(
        state.fabric.engine(),
        {.port = state.net().plant().port_of(fabric.node(message.from), 1),
         .to_port = state.net().plant().port_of(fabric.node(message.to), 1),
         .source = fabric.lid(message.from),
         .destination = fabric.lid(message.to),
         .bytes = message.bytes,
         .tag = message.tag,
         .connection = message.connection,
         .sl = routes_decide ? fabric.sl(message.from, message.to) : message.sl},
        at);
}

void Simulation::set_listener(MessageListener* listener) {
    state_->listener = listener;
    state_->fabric.ends().set_listener(listener);
}

bool Simulation::run_some(TimePs until, std::uint32_t events_max) {
    State& state = *state_;
    Engine& net = state.fabric.engine();
    while (events_max != 0) {
        state.refuse();
        if (net.idle() && !(state.control.change_due(until) && unfinished() != 0)) {
            return true;
        }
        const TimePs target = state.control.next_stop(until);
        const std::uint64_t before = net.stats().events;
        const bool reached = state.fabric.net().run_some(target, events_max);
        const std::uint64_t done = net.stats().events - before;
        events_max -= static_cast<std::uint32_t>(std::min<std::uint64_t>(done, events_max));
        if (!reached) {
            return false;
        }
        state.control.stop(target, state);
        if (target == until) {
            return true;
        }
    }
    return false;
}

bool Simulation::idle() const {
    return state_->net().idle();
}

ModelStats Simulation::stats() const {
    return stats_of(state_->net(), state_->fabric.ends());
}

std::uint64_t Simulation::events() const {
    return state_->net().stats().events;
}

std::uint64_t Simulation::packets_delivered() const {
    return state_->net().stats().delivered;
}

std::vector<LinkLoad> Simulation::links() const {
    const Engine& net = state_->net();
    std::vector<LinkLoad> links;
    for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
        if (!net.plant().connected(port) || net.plant().peer(port) == port) {
            continue;
        }
        const std::uint32_t peer = net.plant().peer(port);
        links.push_back(load_of(net, port, state_->control.looks()));
        links.back().at = {net.plant().node_of(port), net.plant().number_of(port)};
        links.back().peer = {net.plant().node_of(peer), net.plant().number_of(peer)};
    }
    return links;
}

struct Simulation::State::View {
    const State& state;
    Lid source;
    bool hashed;  ///< A hash of the flow decides among ports.

    const Plant& plant() const { return state.net().plant(); }
    std::size_t node_count() const { return plant().node_count(); }
    std::uint32_t behind(std::uint32_t node, std::uint8_t port) const {
        if (port == 0 || port >= plant().ports_of(node)) {
            return kNone;
        }
        const std::uint32_t peer = plant().peer(plant().port_of(node, port));
        return peer == kNone ? kNone : plant().node_of(peer);
    }
    std::uint8_t route(std::uint32_t node, Lid lid) const {
        if (!plant().is_switch(node)) {
            return kNoPath;
        }
        return hashed ? hashed_route(state.net(), node, source, lid, MessageHosts::kTagged)
                      : plant().route(node, lid);
    }
    Lid lid(std::uint32_t node) const { return state.fabric.lids()[node]; }
    std::uint32_t end_of(std::uint32_t node) const { return plant().port_of(node, 1); }
    std::uint32_t node_of(std::uint32_t end) const { return plant().node_of(end); }
};

std::vector<Hop> Simulation::path(std::uint32_t from, std::uint32_t to) const {
    const State& state = *state_;
    const bool hashed =
        state.options.roce && state.options.roce->ecmp == RoceOptions::Ecmp::kFiveTuple;
    return find_path(State::View{state, state.fabric.lid(from), hashed}, state.routers.get(),
                     state.fabric.node(from), state.fabric.node(to));
}

const topo::Fabric& Simulation::fabric() const {
    return state_->fabric.topology();
}

const std::string& Simulation::engine() const {
    return state_->engine;
}

std::uint8_t Simulation::data_vls() const {
    return state_->options.plant.data_vls;
}

std::uint64_t Simulation::unfinished() const {
    return state_->fabric.ends().unfinished();
}

std::vector<Partial> Simulation::partial() const {
    return state_->fabric.ends().partial();
}

const std::vector<std::string>& Simulation::notes() const {
    return state_->control.notes();
}

std::vector<std::string> Simulation::check() const {
    const Inspector inspector(state_->net());
    std::vector<std::string> found = inspector.check_counters();
    if (!state_->options.roce) {
        std::ranges::move(inspector.check_credits(), std::back_inserter(found));
    }
    if (const Deadlock stuck = inspector.find_deadlock(); stuck.any()) {
        found.push_back(stuck.text);
    }
    std::ranges::move(inspector.find_starved(), std::back_inserter(found));
    return found;
}

std::size_t Simulation::bytes() const {
    return state_->net().bytes() + state_->fabric.ends().bytes();
}

}  // namespace softib::net
