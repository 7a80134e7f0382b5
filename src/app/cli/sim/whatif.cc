// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/whatif.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "app/cli/json_text.h"
#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app::sim {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRanksShown = 10;

double ratio(double after, double before) {
    return before == 0 ? 0 : after / before;
}

std::string cases_table(const WhatIf& whatif) {
    Table table({"LOST", "ROUTES", "DELIVERED", "DONE AFTER", "TOGETHER", "PER MESSAGE", "SLOWEST",
                 "OF BEFORE"});
    const WhatIfCase& before = whatif.cases.front();
    for (const WhatIfCase& each : whatif.cases) {
        table.row({each.lost, each.engine, fmt::format("{}/{}", each.delivered, each.messages),
                   plan::show_time(static_cast<plan::TimePs>(each.finished_us * 1e6)),
                   plan::show_rate(each.gbps), plan::show_rate(each.message_gbps),
                   plan::show_rate(each.slowest_gbps),
                   fmt::format("{:.0f} %", 100 * ratio(each.message_gbps, before.message_gbps))});
    }
    return table.text();
}

std::string ranking_table(const std::string& head, const std::vector<plan::Loss>& losses,
                          const std::vector<std::string>& names, double before) {
    Table table({head, "FLOWS GET", "OF BEFORE", "CUT OFF"});
    for (std::size_t i = 0; i < std::min(losses.size(), kRanksShown); ++i) {
        table.row({names[i], fmt::format("{:.1f} %", 100 * losses[i].mean_share),
                   fmt::format("{:.0f} %", 100 * ratio(losses[i].mean_share, before)),
                   losses[i].unreachable == 0
                       ? ""
                       : painted(counted(losses[i].unreachable, "flow"), Colour::kRed)});
    }
    return table.text();
}

Json to_json(const std::vector<plan::Loss>& losses, const std::vector<std::string>& names) {
    Json all = Json::array();
    for (std::size_t i = 0; i < losses.size(); ++i) {
        all.push_back({{"lost", names[i]},
                       {"mean_share", losses[i].mean_share},
                       {"unreachable_flows", losses[i].unreachable}});
    }
    return all;
}

}  // namespace

std::string to_text(const WhatIf& whatif) {
    const plan::Ranking& ranking = whatif.ranking;
    const double before = ranking.before.mean_share;
    std::string text = painted(whatif.title, Colour::kBold) + "\n\n" + cases_table(whatif);
    const std::string cables = counted(ranking.cables_tried, "cable");
    const std::string switches = counted(ranking.switches_tried, "switch");
    text += fmt::format(
        "\nBy routes alone, a flow gets {:.1f} % of a link on average. The worst to lose of {} "
        "tried:\n\n",
        100 * before,
        ranking.routers.empty() ? fmt::format("{} and {}", cables, switches)
                                : fmt::format("{}, {} and {}", cables, switches,
                                              counted(ranking.routers.size(), "router")));
    text += ranking_table("CABLE", ranking.cables, whatif.cable_names, before) + "\n";
    text += ranking_table("SWITCH", ranking.switches, whatif.switch_names, before);
    if (!ranking.routers.empty()) {
        text += "\n" + ranking_table("ROUTER", ranking.routers, whatif.router_names, before);
    }
    return text;
}

std::string to_json(const WhatIf& whatif) {
    Json cases = Json::array();
    const WhatIfCase& before = whatif.cases.front();
    for (const WhatIfCase& each : whatif.cases) {
        cases.push_back({{"lost", each.lost},
                         {"engine", each.engine},
                         {"messages", each.messages},
                         {"delivered", each.delivered},
                         {"finished_us", each.finished_us},
                         {"gbps", each.gbps},
                         {"message_gbps", each.message_gbps},
                         {"slowest_gbps", each.slowest_gbps},
                         {"of_before", ratio(each.message_gbps, before.message_gbps)}});
    }
    const plan::Ranking& ranking = whatif.ranking;
    return json_text({{"title", whatif.title},
                      {"cases", std::move(cases)},
                      {"mean_share_before", ranking.before.mean_share},
                      {"worst_cables", to_json(ranking.cables, whatif.cable_names)},
                      {"worst_switches", to_json(ranking.switches, whatif.switch_names)},
                      {"worst_routers", to_json(ranking.routers, whatif.router_names)}});
}

}  // namespace softib::app::sim
