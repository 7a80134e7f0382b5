// SPDX-License-Identifier: BSD-2-Clause
// Systems, ports, links, modules and groups of UFM's tree.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "server/ufm.h"

namespace softib::server {

namespace {

using telemetry::Inventory;
using telemetry::kNoIndex;
using telemetry::Node;
using telemetry::Port;
using telemetry::Snapshot;

bool is_port_active(const Snapshot& snapshot, std::uint32_t port) {
    return snapshot.sample.states[port] == PortState::kActive;
}

std::string host_name(const Node& node) {
    return node.name.substr(0, node.name.find('/'));
}

/// Returns the worst severity of the alarms at an object.
std::string severity_at(const std::vector<telemetry::Event>& alarms, std::string_view object) {
    telemetry::Severity worst = telemetry::Severity::kInfo;
    for (const telemetry::Event& alarm : alarms) {
        const bool is_there = alarm.object == object || alarm.peer == object;
        worst = is_there ? std::max(worst, alarm.severity) : worst;
    }
    return to_string(worst);
}

/// Returns whether a list of names has a node: by GUID, by name, or by the name of its host. An
/// empty list has all.
bool is_named(std::string_view list, const Node& node) {
    return is_listed(list, ufm_guid(node.guid)) || is_listed(list, node.name) ||
           is_listed(list, host_name(node));
}

std::string_view system_type(const Node& node) {
    switch (node.kind) {
        case topo::NodeKind::kSwitch:
            return "Switch";
        case topo::NodeKind::kRouter:
            return "Router";
        default:
            return "Computer";
    }
}

constexpr std::string_view kNoBer = "N/A";

/// Returns how bad the alarm for bit errors at a port is, in UFM's words.
std::string_view ber_at(const std::vector<telemetry::Event>& alarms, std::string_view port) {
    for (const telemetry::Event& alarm : alarms) {
        if (alarm.kind == "bit_error_rate" && alarm.object == port) {
            return alarm.severity == telemetry::Severity::kCritical ? "error" : "warning";
        }
    }
    return kNoBer;
}

bool is_node_active(const Snapshot& snapshot, const Node& node) {
    for (std::uint32_t i = node.port_first; i < node.port_first + node.port_count; ++i) {
        if (is_port_active(snapshot, i)) {
            return true;
        }
    }
    return false;
}

std::string module_name(const Node& node) {
    return fmt::format("{}_0", ufm_guid(node.guid));
}

Json port_json(const Snapshot& snapshot, const std::vector<telemetry::Event>& alarms,
               std::uint32_t index) {
    const Inventory& inventory = *snapshot.inventory;
    const Port& port = inventory.ports[index];
    const Node& node = inventory.node_of(index);
    const bool active = is_port_active(snapshot, index);
    Json json{
        {"name", ufm_port_name(inventory, index)},
        {"number", port.number},
        {"external_number", port.number},
        {"dname", std::to_string(port.number)},
        {"description", inventory.port_name(index)},
        {"guid", ufm_guid(port.guid)},
        {"systemID", ufm_guid(node.guid)},
        {"system_name", host_name(node)},
        {"node_description", node.name},
        {"path", fmt::format("default / {} / {}", host_name(node), inventory.port_name(index))},
        {"lid", node.lid.value},
        {"mtu", 4096},
        {"tier", node.tier},
        {"physical_state", active ? "Link Up" : "Polling"},
        {"logical_state", active ? "Active" : "Down"},
        {"active_speed", port.speed},
        {"enabled_speed", {port.speed}},
        {"supported_speed", {port.speed}},
        {"active_width", fmt::format("{}x", port.lanes)},
        {"enabled_width", {fmt::format("{}x", port.lanes)}},
        {"supported_width", {fmt::format("{}x", port.lanes)}},
        {"severity", severity_at(alarms, inventory.port_name(index))},
        {"high_ber_severity", ber_at(alarms, inventory.port_name(index))},
        {"module", "N/A"},
        {"mirror", "disable"},
        {"capabilities", {"reset", "enable", "disable"}}};
    if (port.peer != kNoIndex) {
        const Node& other = inventory.node_of(port.peer);
        json.update(Json{{"peer", ufm_port_name(inventory, port.peer)},
                         {"peer_guid", ufm_guid(inventory.ports[port.peer].guid)},
                         {"peer_node_guid", ufm_guid(other.guid)},
                         {"peer_node_name", host_name(other)},
                         {"peer_node_description", other.name},
                         {"peer_port_dname", std::to_string(inventory.ports[port.peer].number)},
                         {"peer_lid", other.lid.value}});
    }
    return json;
}

Json link_json(const Snapshot& snapshot, const std::vector<telemetry::Event>& alarms,
               std::uint32_t from, std::uint32_t to) {
    const Inventory& inventory = *snapshot.inventory;
    if (inventory.ports[to].guid < inventory.ports[from].guid) {
        std::swap(from, to);
    }
    const auto end = [&](const char* side, std::uint32_t port) {
        return Json{
            {fmt::format("{}_guid", side), ufm_guid(inventory.node_of(port).guid)},
            {fmt::format("{}_port", side), std::to_string(inventory.ports[port].number)},
            {fmt::format("{}_port_dname", side), std::to_string(inventory.ports[port].number)},
            {fmt::format("{}_port_node_description", side), inventory.node_of(port).name}};
    };
    Json json{{"name",
               fmt::format("{}:{}", ufm_port_name(inventory, from), ufm_port_name(inventory, to))}};
    json.update(end("source", from));
    json.update(end("destination", to));
    json.update(Json{{"width", fmt::format("IB_{}x", inventory.ports[from].lanes)},
                     {"severity", severity_at(alarms, inventory.port_name(from))},
                     {"cable_info", Json::object()},
                     {"capabilities", Json::array()}});
    return json;
}

Json system_json(const Snapshot& snapshot, const std::vector<telemetry::Event>& alarms,
                 const Node& node) {
    const Inventory& inventory = *snapshot.inventory;
    const bool is_switch = node.kind == topo::NodeKind::kSwitch;
    const bool is_router = node.kind == topo::NodeKind::kRouter;
    Json ports = Json::array();
    for (std::uint32_t i = node.port_first; i < node.port_first + node.port_count; ++i) {
        ports.push_back(ufm_port_name(inventory, i));
    }
    return {{"name", ufm_guid(node.guid)},
            {"guid", ufm_guid(node.guid)},
            {"system_guid", ufm_guid(node.system_guid)},
            {"system_name", host_name(node)},
            {"description", node.name},
            {"type", is_switch   ? "switch"
                     : is_router ? "router"
                                 : "host"},
            {"model", "softib"},
            {"technology", node.port_count != 0 ? inventory.ports[node.port_first].speed : ""},
            {"role", is_switch ? (node.tier == 1 ? "tor" : "core") : "endpoint"},
            {"vendor", "softib"},
            {"fw_version", "0.0.0"},
            {"sw_version", "N/A"},
            {"ip", "0.0.0.0"},
            {"ports", std::move(ports)},
            {"modules", {module_name(node)}},
            {"severity", severity_at(alarms, node.name)},
            {"state", is_node_active(snapshot, node) ? "active" : "inactive"},
            {"capabilities", Json::array()},
            {"total_alarms", std::ranges::count(alarms, node.name, &telemetry::Event::object)}};
}

}  // namespace

std::vector<Route> Ufm::resource_routes() {
    using enum ValueKind;
    constexpr std::string_view kNoCables = "nothing here reads the EEPROMs of cables";
    constexpr std::string_view kNoCounters = "`/metrics` and `/csv/metrics` have counters";
    const Parameter cable_info{"cable_info", kFlag, "", false, {}, kNoCables};
    const Parameter counters{"monitoring_counters_info", kFlag, "", false, {}, kNoCounters};
    const Handler ports = answer_by(this, &Ufm::ports);
    const Handler systems = answer_by(this, &Ufm::systems);
    const std::vector<Parameter> of_systems{
        {"type", kText, "", false, {"switch", "host", "router", "gateway"}},
        {"role", kText, "", false, {"core", "tor", "endpoint"}},
        {"model", kText, "as in `model`"},
        kPageNumber,
        kPageRows,
        {"ip", kText, "", false, {}, "nodes have no management addresses"},
        {"chassis", kText, "", false, {}, "no switch has a chassis"},
        {"in_rack", kText, "", false, {}, "there are no racks"},
        {"rack", kText, "", false, {}, "there are no racks"},
        {"computes", kText, "", false, {}, "there are no logical servers"}};
    const std::vector<Parameter> of_ports{
        {"system", kText, "GUIDs or names, with commas"},
        {"active", kFlag, "whether the port is active; false lists all"},
        {"sys_type", kText, "", false, {"Computer", "Switch", "Router", "Gateway"}},
        {"external", kFlag, "all ports are external"},
        {"show_disabled", kFlag, "false leaves out the ports that clients isolated"},
        {"high_ber_only", kFlag, "ports with the alarm `bit_error_rate`"},
        {"high_ber_severity", kText, "as in `high_ber_severity`", false, {"warning", "error"}},
        kPageNumber,
        kPageRows,
        cable_info,
        counters};
    return {
        get("/resources/systems", systems, "nodes", of_systems),
        get("/resources/systems/{names}", systems, "these nodes", of_systems),
        get("/resources/ports", ports, "cabled ports", of_ports),
        get("/resources/ports/{names}", ports, "these ports, as `GUID_N`", of_ports),
        get("/resources/links", answer_by(this, &Ufm::links), "cables whose ports are active",
            {{"system", kText, "GUIDs or names, with commas"},
             kPageNumber,
             kPageRows,
             cable_info,
             counters}),
        get("/resources/modules", answer_by(this, &Ufm::modules), "a module for each node",
            {kPageNumber, kPageRows}),
        get("/resources/groups", answer_by(this, &Ufm::groups), "a group for each tier"),
    };
}

Response Ufm::systems(const Call& call) const {
    const auto snapshot = config_.collector->snapshot();
    const auto alarms = config_.collector->alarms();
    Json list = Json::array();
    for (const Node& node : snapshot->inventory->nodes) {
        if (!is_named(call.name(), node)) {
            continue;
        }
        Json system = system_json(*snapshot, alarms, node);
        const auto fits = [&](const char* name) {
            return !call.has(name) || system[name] == call.text(name);
        };
        if (fits("type") && fits("role") && fits("model")) {
            list.push_back(std::move(system));
        }
    }
    return list.empty() && !call.names.empty()
               ? Response::error(404, fmt::format("no system '{}'", call.name()))
               : paged(call, std::move(list));
}

Response Ufm::ports(const Call& call) {
    const auto snapshot = config_.collector->snapshot();
    const Inventory& inventory = *snapshot->inventory;
    const auto alarms = config_.collector->alarms();
    std::set<std::string> isolated;
    if (!call.flag("show_disabled", true)) {
        const std::lock_guard lock(mutex_);
        for (const auto& [name, since] : state_.unhealthy) {
            isolated.insert(name);
        }
    }
    Json list = Json::array();
    for (std::uint32_t i = 0; i < snapshot->sample.states.size(); ++i) {
        const bool wanted = is_named(call.text("system"), inventory.node_of(i)) &&
                            is_listed(call.name(), ufm_port_name(inventory, i)) &&
                            !isolated.contains(ufm_port_name(inventory, i)) &&
                            call.flag("external", true);
        if (wanted && (!call.flag("active") || is_port_active(*snapshot, i)) &&
            (!call.has("sys_type") || call.text("sys_type") == system_type(inventory.node_of(i)))) {
            Json port = port_json(*snapshot, alarms, i);
            const std::string ber = port["high_ber_severity"];
            if ((!call.flag("high_ber_only") || ber != kNoBer) &&
                (!call.has("high_ber_severity") || ber == call.text("high_ber_severity"))) {
                list.push_back(std::move(port));
            }
        }
    }
    return list.empty() && !call.names.empty()
               ? Response::error(404, fmt::format("no such port: '{}'", call.name()))
               : paged(call, std::move(list));
}

Response Ufm::links(const Call& call) const {
    const auto snapshot = config_.collector->snapshot();
    const auto alarms = config_.collector->alarms();
    const Inventory& inventory = *snapshot->inventory;
    Json list = Json::array();
    for (std::uint32_t i = 0; i < snapshot->sample.states.size(); ++i) {
        const std::uint32_t peer = inventory.ports[i].peer;
        if (peer != kNoIndex && peer >= i && is_port_active(*snapshot, i) &&
            (is_named(call.text("system"), inventory.node_of(i)) ||
             is_named(call.text("system"), inventory.node_of(peer)))) {
            list.push_back(link_json(*snapshot, alarms, i, peer));
        }
    }
    return paged(call, std::move(list));
}

/// Answers with the modules of systems. Each node is one module, since it has no parts that could
/// be taken out or that report for themselves.
Response Ufm::modules(const Call& call) const {
    const auto snapshot = config_.collector->snapshot();
    const auto alarms = config_.collector->alarms();
    Json list = Json::array();
    for (const Node& node : snapshot->inventory->nodes) {
        list.push_back({{"name", module_name(node)},
                        {"description", node.name},
                        {"type", "SYSTEM"},
                        {"device_type", node.kind == topo::NodeKind::kSwitch ? "Switch" : "HCA"},
                        {"device_name", host_name(node)},
                        {"hosting_system_guid", ufm_guid(node.guid)},
                        {"path", fmt::format("default / {}", host_name(node))},
                        {"module_index", 0},
                        {"number_of_chips", 1},
                        {"cabled_ib_ports", node.port_count},
                        {"temperature", "N/A"},
                        {"serial_number", "N/A"},
                        {"part_number", "N/A"},
                        {"severity", severity_at(alarms, node.name)},
                        {"status", is_node_active(*snapshot, node) ? "OK" : "fault"}});
    }
    return paged(call, std::move(list));
}

/// Answers with groups of systems, one for each tier of the tree.
Response Ufm::groups(const Call&) const {
    const auto snapshot = config_.collector->snapshot();
    std::map<std::uint32_t, Json> tiers;
    for (const Node& node : snapshot->inventory->nodes) {
        auto& members = tiers.try_emplace(node.tier, Json::array()).first->second;
        members.push_back({{"guid", ufm_guid(node.guid)}, {"description", node.name}});
    }
    Json list = Json::array();
    for (auto& [tier, members] : tiers) {
        list.push_back({{"name", tier == 0 ? "hosts" : fmt::format("tier-{}", tier)},
                        {"description", tier == 0 ? "HCAs" : "switches of a tier"},
                        {"type", "General"},
                        {"severity", "Info"},
                        {"members", std::move(members)}});
    }
    return Response::json(to_text(list));
}

}  // namespace softib::server
