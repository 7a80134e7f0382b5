// SPDX-License-Identifier: BSD-2-Clause
#include "run/points.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "answer/json_text.h"
#include "run/basis.h"
#include "run/csv.h"
#include "spec/scenario/serves.h"

namespace softib::run {

namespace {

using Json = nlohmann::ordered_json;

/// Returns the list "basis" of a report; an empty one if the report has none.
std::vector<std::string> basis_in(std::string_view report) {
    const std::size_t name = report.find("\"basis\"");
    const std::size_t begin = report.find('[', std::min(name, report.size()));
    const std::size_t end = report.find(']', std::min(begin, report.size()));
    if (end == report.npos) {
        return {};
    }
    const Json list = Json::parse(report.substr(begin, end + 1 - begin), nullptr, false);
    return list.is_array() ? list.get<std::vector<std::string>>() : std::vector<std::string>();
}

}  // namespace

std::vector<std::string> basis_of(const SweepReport& report) {
    std::vector<std::vector<std::string>> each;
    for (const PointRow& row : report.rows) {
        if (row.outcome) {
            each.push_back(basis_in(row.outcome->report));
        }
    }
    return basis_of_all(each);
}

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
    return answer::json_text({{"kind", spec::to_string(spec::RunKind::kSweep)},
                              {"points", std::move(all)},
                              {"basis", basis_of(report)}});
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
