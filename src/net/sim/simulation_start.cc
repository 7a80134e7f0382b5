// SPDX-License-Identifier: BSD-2-Clause
// What a simulation checks and computes before it begins: whether its options fit together, and the
// routes of its fabric.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/routing/engine.h"
#include "core/topo/subnets.h"
#include "net/engine/routers.h"
#include "net/plant/latency.h"
#include "net/sim/fabric.h"
#include "net/sim/simulation.h"

namespace softib::net {

namespace {

constexpr std::uint8_t kLanesOffered = 8;  ///< Lanes that routing engines may use by default.
constexpr std::uint8_t kPriorities = 8;    ///< Priorities of Ethernet's flow control.
constexpr std::uint8_t kVlsMax = 15;       ///< Data VLs that a port can have.

/// Returns an error if a list of VL arbitration gives weights, but only to lanes that ports do not
/// have. Other entries for such lanes are left out, as OpenSM does.
std::expected<void, topo::Error> check_arbitration(const sm::QosConfig& qos, std::uint8_t vls) {
    const auto check = [&](const char* key,
                           const sm::ArbitrationList& list) -> std::expected<void, topo::Error> {
        const auto weighs = [](const wire::VlArbitrationEntry& entry) { return entry.weight != 0; };
        const auto acts = [&](const wire::VlArbitrationEntry& entry) {
            return entry.weight != 0 && entry.vl < vls;
        };
        if (!std::ranges::any_of(list, weighs) || std::ranges::any_of(list, acts)) {
            return {};
        }
        return std::unexpected(topo::Error{
            fmt::format("{} gives weights only to lanes that ports do not have: they have {} data "
                        "{} (max_op_vls, data_vls)",
                        key, vls, vls == 1 ? "VL" : "VLs")});
    };
    auto high = check("vlarb_high", qos.vlarb_high);
    // The default leaves VL0 to the high list.
    return high && qos.vlarb_low != sm::default_vlarb_low() ? check("vlarb_low", qos.vlarb_low)
                                                            : high;
}

/// Returns an error if the lanes that the options name are not those of a port.
std::expected<void, topo::Error> check_lanes(const SimulationOptions& options) {
    const std::uint8_t vls = options.plant.data_vls;
    const std::uint8_t most = sm::data_vls_of(options.qos.max_op_vls);
    if (vls > most) {
        return std::unexpected(topo::Error{fmt::format(
            "max_op_vls {} leaves {} data VLs, so that data_vls must not be {}: leave one of them "
            "out",
            options.qos.max_op_vls, most, vls)});
    }
    if (!options.qos.on) {
        if (vls > kVlsMax || options.sl_max >= kVlsMax || (vls != 0 && options.sl_max >= vls)) {
            return std::unexpected(topo::Error{
                fmt::format("traffic with service level {} needs {} data VLs, 15 at most",
                            options.sl_max, options.sl_max + 1)});
        }
        return {};
    }
    if (options.roce) {
        return std::unexpected(
            topo::Error{"qos writes lanes and VL arbitration of InfiniBand: leave it out, or take "
                        "link_layer \"infiniband\""});
    }
    if (vls != 0 && vls != 1 && vls != 2 && vls != 4 && vls != 8 && vls != 15) {
        return std::unexpected(topo::Error{fmt::format(
            "with qos a port has 1, 2, 4, 8 or 15 data VLs (PortInfo.OperationalVLs), not {}",
            vls)});
    }
    return check_arbitration(options.qos, vls != 0 ? vls : std::min(most, kLanesOffered));
}

}  // namespace

bool routes_need_lanes(const routing::Tables& tables) {
    return !tables.sls.uniform() || !tables.sl_to_vl.empty();
}

TimePs switch_time(const SimulationOptions& options, topo::Generation generation) {
    return options.plant.switch_ps != 0 ? options.plant.switch_ps : switch_latency(generation);
}

std::expected<void, topo::Error> check_options(const SimulationOptions& options) {
    const PlantConfig& plant = options.plant;
    const std::uint32_t packet = options.hosts.mtu + options.hosts.header_bytes +
                                 std::uint32_t{options.hosts.first_header_bytes};
    if (plant.buffer_bytes > link::kGrantMax * link::kBlockBytes ||
        plant.buffer_bytes < packet + link::kBlockBytes) {
        return std::unexpected(topo::Error{fmt::format(
            "a lane's buffer must hold one packet and be at most 128 KiB: take {} to {} bytes",
            packet + link::kBlockBytes, link::kGrantMax * link::kBlockBytes)});
    }
    if (packet > plant.packet_bytes_max) {
        return std::unexpected(
            topo::Error{fmt::format("mtu must be at most 4096 bytes, not {}", options.hosts.mtu)});
    }
    if (auto checked = check_lanes(options); !checked) {
        return checked;
    }
    if (options.roce && plant.data_vls > kPriorities) {
        return std::unexpected(topo::Error{fmt::format(
            "Ethernet has {} priorities: {} data VLs are too many", kPriorities, plant.data_vls)});
    }
    return {};
}

bool switches_choose(const SimulationOptions& options) {
    return options.roce ? options.roce->ecmp != RoceOptions::Ecmp::kTables : options.hosts.adaptive;
}

namespace {

std::expected<void, topo::Error> check_subnets(const SimulationOptions& options) {
    if (options.sl_max != 0 || sm::data_vls_of(options.qos.max_op_vls) < kLevelsAcross ||
        (options.plant.data_vls != 0 && options.plant.data_vls < kLevelsAcross)) {
        return std::unexpected(
            topo::Error{"routers between subnets take service levels 0 and 1 with a data VL each: "
                        "leave out sl, data_vls and max_op_vls, or take one subnet"});
    }
    if (options.qos.on) {
        return std::unexpected(
            topo::Error{"routers between subnets need the lanes as they are at power-up: leave out "
                        "qos, or take one subnet"});
    }
    if (options.roce) {
        return std::unexpected(
            topo::Error{"routers between subnets forward InfiniBand: take link_layer "
                        "\"infiniband\", or one subnet"});
    }
    return {};
}

/// Returns an error if the options ask for service levels or lanes that the routes decide.
std::expected<void, topo::Error> check_levels_of(const routing::Tables& tables,
                                                 const SimulationOptions& options) {
    if (!routes_need_lanes(tables)) {
        return {};
    }
    if (options.qos.on && options.qos.sl2vl) {
        return std::unexpected(topo::Error{fmt::format(
            "the routes of {} need the lanes against deadlocks: leave out sl2vl, or take an engine "
            "that needs one lane",
            tables.engine)});
    }
    if (options.sl_max != 0) {
        return std::unexpected(topo::Error{fmt::format(
            "the routes of {} decide the service level of each pair of hosts: leave out sl, or "
            "take an engine that needs one lane",
            tables.engine)});
    }
    return {};
}

}  // namespace

std::expected<StartingRoutes, topo::Error> route_at_start(topo::Fabric fabric,
                                                          const SimulationOptions& options) {
    bool damaged = false;
    for (const Failure& failure : options.failures) {
        if (failure.at == 0) {
            take_out(fabric, failure.what);
            damaged = true;
        }
    }
    const std::uint8_t levels = static_cast<std::uint8_t>(options.sl_max + 1U);
    const std::uint8_t most = sm::data_vls_of(options.qos.max_op_vls);
    const std::uint8_t by_qos = std::min(most, kLanesOffered);
    const std::uint8_t offered = options.plant.data_vls != 0 ? options.plant.data_vls
                                 : options.qos.on            ? by_qos
                                                  : std::min(std::max(kLanesOffered, levels), most);
    std::vector<std::string> notes;
    std::vector<std::string> engines(topo::subnet_count(fabric), options.engine);
    auto routed =
        damaged ? Routed::repair(fabric, engines, offered, options.hosts.adaptive, notes)
                : Routed::make(std::move(fabric), options.engine, offered, options.hosts.adaptive);
    if (!routed) {
        return std::unexpected(routed.error());
    }
    const bool several = routed->subnets() > 1;
    if (several) {
        if (auto checked = check_subnets(options); !checked) {
            return std::unexpected(checked.error());
        }
    }
    if (options.roce) {
        if (switches_choose(options) && !routed->has_choice() &&
            routed->topology.count(topo::NodeKind::kSwitch) > 1) {
            notes.push_back(
                fmt::format("the routes of {} leave switches no choice: each pair of "
                            "hosts has one way, whatever ECMP says",
                            routed->tables.engine));
        }
    } else if (options.hosts.adaptive && !routed->has_choice()) {
        return std::unexpected(topo::Error{
            fmt::format("the routes of {} leave switches no choice, so there is nothing to adapt: "
                        "take another engine, or leave adaptive routing out",
                        routed->tables.engine)});
    }
    if (auto checked = check_levels_of(routed->tables, options); !checked) {
        return std::unexpected(checked.error());
    }
    const std::uint8_t needed =
        std::max({routed->tables.vls, levels, several ? kLevelsAcross : std::uint8_t{1}});
    const std::uint8_t lanes = options.plant.data_vls != 0 ? options.plant.data_vls
                               : options.qos.on            ? by_qos
                                                           : std::min(needed, most);
    return StartingRoutes{*std::move(routed), lanes, std::move(notes)};
}

}  // namespace softib::net
