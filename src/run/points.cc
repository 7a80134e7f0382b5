// SPDX-License-Identifier: BSD-2-Clause
#include "run/points.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "answer/json_text.h"
#include "run/csv.h"
#include "spec/scenario/serves.h"

namespace softib::run {

namespace {

using Json = nlohmann::ordered_json;
}  // namespace

std::string to_json(const SweepReport& report) {
    Json all = Json::array();
    for (const PointRow& row : report.rows) {
        Json one{{"number", row.number}, {"status", row.status()}};
        for (const auto& [key, value] : row.point) {
            one["parameters"][key] = value;
        }
        if (row.outcome && row.outcome->failed) {
            one["error"] = row.outcome->error;
        } else if (row.outcome) {
            for_each_number(*row.outcome, [&](const char* name, auto value) { one[name] = value; });
            one["log_hash"] = row.outcome->log_hash;
        }
        all.push_back(std::move(one));
    }
    return answer::json_text(
        {{"kind", spec::to_string(spec::RunKind::kSweep)}, {"points", std::move(all)}});
}

std::string to_csv(const SweepReport& report) {
    std::string text = "number";
    if (!report.rows.empty()) {
        for (const auto& [key, value] : report.rows.front().point) {
            text += "," + key;
        }
    }
    text += ",status";
    for_each_number(PointOutcome{},
                    [&](const char* name, auto) { text += fmt::format(",{}", name); });
    text += ",log_hash,error\n";
    for (const PointRow& row : report.rows) {
        text += std::to_string(row.number);
        for (const auto& [key, value] : row.point) {
            text += "," + csv_cell(value);
        }
        text += fmt::format(",{}", row.status());
        const PointOutcome outcome = row.outcome.value_or(PointOutcome{});
        const bool known = row.outcome && !row.outcome->failed;
        for_each_number(outcome, [&](const char*, auto value) {
            text += known ? "," + csv_number(value) : ",";
        });
        text += fmt::format(",{},{}\n", outcome.log_hash, csv_cell(outcome.error));
    }
    return text;
}

}  // namespace softib::run
