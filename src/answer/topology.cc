// SPDX-License-Identifier: BSD-2-Clause
#include "answer/topology.h"

#include <nlohmann/json.hpp>

#include <utility>

#include "answer/json_text.h"
#include "core/topo/subnets.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;

double gbps(std::uint64_t mbps) {
    return static_cast<double>(mbps) / 1e3;
}

double metres(std::uint64_t cm) {
    return static_cast<double>(cm) / 100;
}

Json cable_json(const topo::CableReport& cable) {
    Json reach = metres(cable.rule.reach_cm);
    return {{"between", cable.between},
            {"generation", topo::link_speed(cable.generation).name},
            {"lanes", topo::lanes(cable.width)},
            {"kind", topo::to_string(cable.rule.kind)},
            {"reach_m", cable.rule.reach_cm == UINT32_MAX ? Json(nullptr) : std::move(reach)},
            {"count", cable.count},
            {"longest_m", metres(cable.longest_cm)},
            {"length_m", metres(cable.length_cm)}};
}

}  // namespace

std::string report_json(const topo::Fabric& fabric, const topo::Report& report) {
    Json levels = Json::array();
    for (const topo::LevelReport& level : report.levels) {
        levels.push_back({{"level", level.level},
                          {"switches", level.switches},
                          {"radix", level.radix},
                          {"ports", level.ports},
                          {"ports_used", level.ports_used}});
    }
    Json cables = Json::array();
    for (const topo::CableReport& cable : report.cables) {
        cables.push_back(cable_json(cable));
    }
    const topo::LidBudget& lids = report.lids;
    Json subnets = Json::array();
    for (const topo::LidBudget& subnet : report.subnets) {
        subnets.push_back({{"hca_ports", subnet.hca_ports},
                           {"switches", subnet.switches},
                           {"routers", subnet.routers},
                           {"lids", subnet.used(subnet.lmc)}});
    }
    return json_text(
        {{"name", fabric.name},
         {"topology", fabric.shape ? Json(topo::to_string(*fabric.shape)) : Json(nullptr)},
         {"hosts", report.hosts},
         {"hcas", report.hcas},
         {"switches", fabric.count(topo::NodeKind::kSwitch)},
         {"routers", topo::find_routers(fabric).size()},
         {"levels", std::move(levels)},
         {"cables", std::move(cables)},
         {"bisection_gbps", gbps(report.bisection.mbps)},
         {"bisection_full_gbps", gbps(report.bisection.full_mbps)},
         {"diameter", report.diameter},
         {"lids",
          {{"used", lids.used(lids.lmc)},
           {"limit", topo::LidBudget::kLimit},
           {"lmc", lids.lmc},
           {"lmc_max", lids.lmc_max()},
           {"fits", lids.fits()}}},
         {"subnets", std::move(subnets)},
         {"racks", report.racks},
         {"assumptions", topo::assumptions(report)}});
}

}  // namespace softib::answer
