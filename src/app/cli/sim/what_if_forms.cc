// SPDX-License-Identifier: BSD-2-Clause
// What-if as text for people and as a page of HTML.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/cli/html_page.h"
#include "app/cli/sim/write.h"
#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app::sim {

namespace {

constexpr std::size_t kRanksShown = 10;

double ratio(double after, double before) {
    return before == 0 ? plan::kUnknown : after / before;
}

std::string shown_part(double part) {
    return std::isnan(part) ? "-" : fmt::format("{:.0f} %", 100 * part);
}

using Rows = std::vector<std::vector<std::string>>;

/// Returns the cases as a table whose first row has the names of the columns.
Rows cases_rows(const run::WhatIfReport& whatif) {
    Rows rows{{"LOST", "ROUTES", "DELIVERED", "DONE AFTER", "TOGETHER", "PER MESSAGE", "SLOWEST",
               "OF BEFORE"}};
    const run::WhatIfCase& before = whatif.cases.front();
    for (const run::WhatIfCase& each : whatif.cases) {
        rows.push_back({each.lost, each.engine, fmt::format("{}/{}", each.delivered, each.messages),
                        plan::show_us(each.finished_us), plan::show_rate(each.gbps),
                        plan::show_rate(each.message_gbps), plan::show_rate(each.slowest_gbps),
                        shown_part(ratio(each.message_gbps, before.message_gbps))});
    }
    return rows;
}

/// Returns the worst losses in the same form; `head` names the first column.
Rows ranking_rows(const std::string& head, const std::vector<plan::Loss>& losses,
                  const std::vector<std::string>& names, double before) {
    Rows rows{{head, "FLOWS GET", "OF BEFORE", "CUT OFF"}};
    for (std::size_t i = 0; i < std::min(losses.size(), kRanksShown); ++i) {
        rows.push_back({names[i], fmt::format("{:.1f} %", 100 * losses[i].mean_share),
                        shown_part(ratio(losses[i].mean_share, before)),
                        losses[i].unreachable == 0 ? "" : counted(losses[i].unreachable, "flow")});
    }
    return rows;
}

/// Returns all rankings that have anything.
std::vector<Rows> rankings(const run::WhatIfReport& whatif) {
    const plan::Ranking& ranking = whatif.ranking;
    const double before = ranking.before.mean_share;
    std::vector<Rows> all{ranking_rows("CABLE", ranking.cables, whatif.cable_names, before),
                          ranking_rows("SWITCH", ranking.switches, whatif.switch_names, before)};
    if (!ranking.routers.empty()) {
        all.push_back(ranking_rows("ROUTER", ranking.routers, whatif.router_names, before));
    }
    return all;
}

/// Returns what the ranking is about, in a sentence.
std::string introduction(const plan::Ranking& ranking) {
    const std::string cables = counted(ranking.cables_tried, "cable");
    const std::string switches = counted(ranking.switches_tried, "switch");
    return fmt::format(
        "By routes alone, a flow gets {:.1f} % of a link on average. The worst to lose of {} "
        "tried:",
        100 * ranking.before.mean_share,
        ranking.routers.empty() ? fmt::format("{} and {}", cables, switches)
                                : fmt::format("{}, {} and {}", cables, switches,
                                              counted(ranking.routers.size(), "router")));
}

/// Returns rows as a table for a terminal, with the cells of column `red` in red.
std::string text_table(const Rows& rows, std::size_t red) {
    Table table(rows.front());
    for (std::size_t i = 1; i < rows.size(); ++i) {
        std::vector<std::string> row = rows[i];
        if (red < row.size() && !row[red].empty()) {
            row[red] = painted(row[red], Colour::kRed);
        }
        table.row(std::move(row));
    }
    return table.text();
}

}  // namespace

std::string to_text(const run::WhatIfReport& whatif) {
    constexpr std::size_t kNone = ~std::size_t{0};
    constexpr std::size_t kCutOff = 3;
    std::string text = painted(whatif.title, Colour::kBold) + "\n\n" +
                       text_table(cases_rows(whatif), kNone) + "\n" + introduction(whatif.ranking) +
                       "\n";
    for (const Rows& rows : rankings(whatif)) {
        text += "\n" + text_table(rows, kCutOff);
    }
    return text + basis_text(whatif.basis);
}

std::string to_html(const run::WhatIfReport& whatif) {
    std::string out = page_head(whatif.title) + page_table(cases_rows(whatif)) +
                      fmt::format("<p>{}</p>\n", escaped(introduction(whatif.ranking)));
    for (const Rows& rows : rankings(whatif)) {
        out += page_table(rows);
    }
    return out + basis_html(whatif.basis) + page_foot();
}

}  // namespace softib::app::sim
