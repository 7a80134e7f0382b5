// SPDX-License-Identifier: BSD-2-Clause
#include "run/what_if.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "answer/json_text.h"
#include "run/csv.h"
#include "spec/scenario/serves.h"

namespace softib::run {

namespace {

using Json = nlohmann::ordered_json;

double ratio(double after, double before) {
    return before == 0 ? plan::kUnknown : after / before;
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

std::string to_json(const WhatIfReport& whatif) {
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
    return answer::json_text({{"kind", spec::to_string(spec::RunKind::kWhatIf)},
                              {"title", whatif.title},
                              {"cases", std::move(cases)},
                              {"mean_share_before", ranking.before.mean_share},
                              {"worst_cables", to_json(ranking.cables, whatif.cable_names)},
                              {"worst_switches", to_json(ranking.switches, whatif.switch_names)},
                              {"worst_routers", to_json(ranking.routers, whatif.router_names)},
                              {"basis", whatif.basis}});
}

std::string to_csv(const WhatIfReport& whatif) {
    std::string text =
        "lost,engine,messages,delivered,finished_us,gbps,message_gbps,slowest_gbps,of_before\n";
    const double before = whatif.cases.front().message_gbps;
    for (const WhatIfCase& each : whatif.cases) {
        text += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_cell(each.lost),
                            csv_cell(each.engine), each.messages, each.delivered,
                            csv_number(each.finished_us), csv_number(each.gbps),
                            csv_number(each.message_gbps), csv_number(each.slowest_gbps),
                            csv_number(ratio(each.message_gbps, before)));
    }
    return text;
}

}  // namespace softib::run
