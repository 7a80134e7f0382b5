// SPDX-License-Identifier: BSD-2-Clause
// `softib plan validate`: published numbers and ours, as a table, as JSON, or as a page.
#include "plan/validation.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/json_text.h"
#include "app/cli/plan/plan_commands.h"
#include "app/fabric/term.h"

namespace softib::app {

namespace {

/// A row and what we say to it.
struct Judged {
    plan::ValidationRow row;
    double ours = 0;
    bool holds = false;
};

std::vector<Judged> judge_all() {
    std::vector<plan::ValidationRow> rows = plan::fabric_rows();
    for (plan::ValidationRow& row : plan::training_rows()) {
        rows.push_back(std::move(row));
    }
    std::vector<Judged> judged;
    Progress progress("validating");
    for (plan::ValidationRow& row : rows) {
        progress.set(row.id + ": " + row.claim);
        progress.tick();
        const double ours = row.ours();
        const bool holds = plan::holds(row, ours);
        judged.push_back({std::move(row), ours, holds});
    }
    return judged;
}

std::string verdict(const Judged& each) {
    return each.holds ? (each.row.fitted ? "fitted" : "holds") : "missed";
}

std::string error_text(const Judged& each) {
    return fmt::format("{:+.2f} %", 100 * plan::error_of(each.row, each.ours));
}

std::string rows_json(const std::vector<Judged>& judged) {
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (const Judged& each : judged) {
        rows.push_back({{"id", each.row.id},
                        {"claim", each.row.claim},
                        {"parameters", each.row.parameters},
                        {"expected", each.row.expected},
                        {"ours", each.ours},
                        {"error", plan::error_of(each.row, each.ours)},
                        {"tolerance", each.row.tolerance},
                        {"unit", each.row.unit},
                        {"holds", each.holds},
                        {"fitted", each.row.fitted},
                        {"source", each.row.source},
                        {"note", each.row.note}});
    }
    return json_text(rows);
}

std::string rows_markdown(const std::vector<Judged>& judged) {
    std::string text =
        "| row | claim | expected | ours | error | | source | note |\n"
        "|---|---|---|---|---|---|---|---|\n";
    for (const Judged& each : judged) {
        const std::string said = verdict(each);
        text += fmt::format("| {} | {} ({}) | {:.6g} {} | {:.6g} | {} | {} | {} | {} |\n",
                            each.row.id, each.row.claim, each.row.parameters, each.row.expected,
                            each.row.unit, each.ours, error_text(each),
                            each.holds ? said : "<span style=\"color:red\">" + said + "</span>",
                            each.row.source, each.row.note);
    }
    return text;
}

std::string rows_text(const std::vector<Judged>& judged) {
    Table table({"ROW", "CLAIM", "EXPECTED", "OURS", "ERROR", "", "SOURCE"});
    std::size_t held = 0;
    for (const Judged& each : judged) {
        held += each.holds ? 1 : 0;
        table.row({each.row.id, each.row.claim,
                   fmt::format("{:.6g} {}", each.row.expected, each.row.unit),
                   fmt::format("{:.6g}", each.ours), error_text(each),
                   painted(verdict(each), each.holds ? Colour::kGreen : Colour::kRed),
                   each.row.source});
    }
    return table.text() + fmt::format("{} of {} rows hold\n", held, judged.size());
}

}  // namespace

int cmd_plan_validate(const PlanValidateOptions& options) {
    const std::vector<Judged> judged = judge_all();
    fmt::print("{}", options.json       ? rows_json(judged)
                     : options.markdown ? rows_markdown(judged)
                                        : rows_text(judged));
    return 0;
}

}  // namespace softib::app
