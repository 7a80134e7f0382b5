// SPDX-License-Identifier: BSD-2-Clause
#include "view/json.h"

#include <utility>

#include "view/names.h"

namespace softib::view {

namespace {

Json health_json(const Status& status) {
    Json list = Json::array();
    for (const Helper& helper : status.helpers) {
        list.push_back({{"name", helper.name},
                        {"state", state_name(helper.state)},
                        {"pid", helper.pid},
                        {"restarts", helper.restarts},
                        {"last_end", helper.last_end},
                        {"reason", helper.reason}});
    }
    return {{"ok", is_well(status)},
            {"text", health_text(status)},
            {"helpers", std::move(list)},
            {"checks", to_json(status.checks)["checks"]}};
}

Json counters_json(const counters::PortCounts& counts) {
    Json out = Json::object();
    for (const auto& row : counters::kPortCounters) {
        out[std::string(row.name)] = value_of(row, counts);
    }
    return out;
}

Json hosts_json(const std::vector<Host>& all) {
    Json hosts = Json::array();
    for (const Host& host : all) {
        Json hcas = Json::array();
        for (const Hca& hca : host.hcas) {
            hcas.push_back({{"name", hca.name},
                            {"lid", hca.lid.value},
                            {"state", to_string(hca.state)},
                            {"rate_gbps", hca.speed.gbps},
                            {"generation", hca.speed.name},
                            {"node_guid", softib::to_string(hca.node_guid)},
                            {"port_guid", softib::to_string(hca.port_guid)},
                            {"cable", hca.cable}});
            if (hca.counts) {
                hcas.back()["counters"] = counters_json(*hca.counts);
            }
        }
        hosts.push_back({{"name", host.name}, {"hcas", std::move(hcas)}});
    }
    return hosts;
}

Json program_json(const RunningProgram& running) {
    Json memory = Json::object();
    for (const MemoryTier& tier : running.held.memory) {
        memory[tier.name] = {{"regions", tier.regions}, {"bytes", tier.bytes}};
    }
    return {{"pid", running.program.pid},   {"command", running.program.command},
            {"host", running.program.host}, {"slot", running.program.owner},
            {"qps", running.held.qps},      {"cqs", running.held.cqs},
            {"srqs", running.held.srqs},    {"mrs", running.held.mrs},
            {"memory", std::move(memory)}};
}

const char* kind_name(topo::NodeKind kind) {
    return kind == topo::NodeKind::kSwitch   ? "switch"
           : kind == topo::NodeKind::kRouter ? "router"
                                             : "hca";
}

Json node_json(const TopologyNode& node) {
    Json json{{"name", node.name},
              {"kind", kind_name(node.kind)},
              {"guid", softib::to_string(node.guid)},
              {"ports", node.ports}};
    if (node.lid != kLidUnassigned) {
        json["lid"] = node.lid.value;
    }
    if (node.level) {
        json["level"] = *node.level;
    }
    if (!node.coordinates.empty()) {
        json["coordinates"] = node.coordinates;
    }
    return json;
}

}  // namespace

Json to_json(const std::vector<Check>& checks) {
    Json list = Json::array();
    for (const Check& check : checks) {
        list.push_back({{"name", check.name},
                        {"ok", check.ok()},
                        {"severity", to_string(check.severity)},
                        {"text", check.text},
                        {"objects", check.objects}});
    }
    return {{"ok", worst(checks) == Severity::kInfo},
            {"severity", to_string(worst(checks))},
            {"checks", std::move(list)}};
}

Json to_json(const Status& status) {
    Json switches = Json::array();
    for (const Switch& sw : status.switches) {
        switches.push_back({{"name", sw.name},
                            {"lid", sw.lid.value},
                            {"ports", sw.ports},
                            {"node_guid", softib::to_string(sw.node_guid)}});
        for (const auto& [port, counts] : sw.port_counts) {
            switches.back()["port_counters"][std::to_string(port)] = counters_json(counts);
        }
    }
    Json programs = Json::array();
    for (const RunningProgram& running : status.programs) {
        programs.push_back(program_json(running));
    }
    return {{"name", status.name},
            {"dir", status.dir},
            {"pid", status.daemon_pid},
            {"health", health_json(status)},
            {"lid_max", status.lid_max},
            {"hosts", hosts_json(status.hosts)},
            {"switches", std::move(switches)},
            {"programs", std::move(programs)}};
}

Json to_json(const Topology& topology) {
    Json nodes = Json::array();
    for (const TopologyNode& node : topology.nodes) {
        nodes.push_back(node_json(node));
    }
    Json cables = Json::array();
    for (const TopologyCable& cable : topology.cables) {
        cables.push_back({{"a", cable.a},
                          {"a_port", cable.a_port},
                          {"b", cable.b},
                          {"b_port", cable.b_port},
                          {"generation", cable.generation},
                          {"lanes", cable.lanes}});
    }
    return {{"name", topology.name}, {"nodes", std::move(nodes)}, {"cables", std::move(cables)}};
}

Json to_json(const Manager& manager) {
    Json json{{"master", manager.master}};
    if (!manager.ours) {
        return json;
    }
    const OurManager& ours = *manager.ours;
    json.update(Json{{"state", ours.state},
                     {"lid", ours.lid.value},
                     {"guid", softib::to_string(ours.guid)},
                     {"priority", ours.priority},
                     {"engine", ours.engine},
                     {"routes", ours.routes},
                     {"adaptive_groups", ours.adaptive_groups},
                     {"nodes", ours.nodes},
                     {"full_sweeps", ours.full_sweeps},
                     {"partial_sweeps", ours.partial_sweeps},
                     {"smps", ours.smps},
                     {"lft_blocks", ours.lft_blocks},
                     {"others", ours.others}});
    return json;
}

}  // namespace softib::view
