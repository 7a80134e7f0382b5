// SPDX-License-Identifier: BSD-2-Clause
// Systems, ports, links, modules and groups of UFM's tree.
#include <fmt/format.h>

#include <algorithm>

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
        worst = alarm.object == object ? std::max(worst, alarm.severity) : worst;
    }
    return to_string(worst);
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
        {"high_ber_severity", "N/A"},
        {"module", "N/A"},
        {"mirror", "disable"},
        {"capabilities", {"reset", "disable"}}};
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
    Json ports = Json::array();
    for (std::uint32_t i = node.port_first; i < node.port_first + node.port_count; ++i) {
        ports.push_back(ufm_port_name(inventory, i));
    }
    return {{"name", ufm_guid(node.guid)},
            {"guid", ufm_guid(node.guid)},
            {"system_guid", ufm_guid(node.system_guid)},
            {"system_name", host_name(node)},
            {"description", node.name},
            {"type", is_switch ? "switch" : "host"},
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

Response Ufm::resources(const Request& request, const Path& path) {
    const std::string_view what = path.size() > 1 ? path[1] : std::string_view{};
    if (what == "pkeys") {
        return pkeys(request, path);
    }
    if (!request.is_write()) {
        if (what == "systems") {
            return systems(request, path);
        }
        if (what == "ports") {
            return ports(request);
        }
        if (what == "links") {
            return links(request);
        }
        if (what == "modules") {
            return modules();
        }
        if (what == "groups") {
            return groups();
        }
    }
    return Response::error(404, "resources are systems, ports, links, modules, groups and pkeys");
}

Response Ufm::systems(const Request& request, const Path& path) const {
    const auto snapshot = config_.collector->snapshot();
    const auto alarms = config_.collector->alarms();
    const std::string_view type = request.parameter("type");
    Json list = Json::array();
    for (const Node& node : snapshot->inventory->nodes) {
        const bool is_switch = node.kind == topo::NodeKind::kSwitch;
        if ((type.empty() || type == (is_switch ? "switch" : "host")) &&
            (path.size() < 3 || path[2] == ufm_guid(node.guid))) {
            list.push_back(system_json(*snapshot, alarms, node));
        }
    }
    return Response::json(to_text(list));
}

Response Ufm::ports(const Request& request) const {
    const auto snapshot = config_.collector->snapshot();
    const auto alarms = config_.collector->alarms();
    const std::string_view system = request.parameter("system");
    const bool active_only = request.parameter("active") == "true";
    Json list = Json::array();
    for (std::uint32_t i = 0; i < snapshot->sample.states.size(); ++i) {
        const Node& node = snapshot->inventory->node_of(i);
        const bool wanted = system.empty() || is_listed(system, ufm_guid(node.guid)) ||
                            is_listed(system, host_name(node));
        if (wanted && (!active_only || is_port_active(*snapshot, i))) {
            list.push_back(port_json(*snapshot, alarms, i));
        }
    }
    return Response::json(to_text(list));
}

Response Ufm::links(const Request& request) const {
    const auto snapshot = config_.collector->snapshot();
    const auto alarms = config_.collector->alarms();
    const Inventory& inventory = *snapshot->inventory;
    const std::string_view system = request.parameter("system");
    Json list = Json::array();
    for (std::uint32_t i = 0; i < snapshot->sample.states.size(); ++i) {
        const std::uint32_t peer = inventory.ports[i].peer;
        if (peer == kNoIndex || peer < i || !is_port_active(*snapshot, i)) {
            continue;
        }
        if (system.empty() || is_listed(system, ufm_guid(inventory.node_of(i).guid)) ||
            is_listed(system, ufm_guid(inventory.node_of(peer).guid))) {
            list.push_back(link_json(*snapshot, alarms, i, peer));
        }
    }
    // A client that asks for a page expects the list in an envelope; one page has all.
    const bool paged = !request.parameter("page_number").empty();
    return Response::json(to_text(paged ? Json{{"data", std::move(list)}} : list));
}

/// Answers with the modules of systems. Each node is one module, since it has no parts that could
/// be taken out or that report for themselves.
Response Ufm::modules() const {
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
    return Response::json(to_text(list));
}

/// Answers with groups of systems, one for each tier of the tree.
Response Ufm::groups() const {
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
