// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <utility>

#include "answer/expect.h"
#include "answer/json_text.h"
#include "plan/collective/algorithms.h"

namespace softib::answer {

namespace {

using Json = nlohmann::ordered_json;

Json value_json(const std::optional<double>& value) {
    return value ? Json(*value) : Json(nullptr);
}

Json row_json(const plan::Benchmark& benchmark, const plan::JudgedRow& row, bool measured) {
    const char* const unit = benchmark.is_bandwidth() ? "gbs" : "us";
    Json json{{"bytes", row.measured.bytes}};
    if (measured) {
        json[fmt::format("measured_{}", unit)] = value_json(row.measured.values[0]);
        json[fmt::format("in_place_{}", unit)] = value_json(row.measured.values[1]);
        json["wrong_values"] = row.measured.wrong;
    }
    json[fmt::format("expected_{}", unit)] = row.expected.value;
    json[fmt::format("low_{}", unit)] = row.expected.low;
    json[fmt::format("high_{}", unit)] = row.expected.high;
    json["interval"] = row.expected.known ? "validated" : "assumed";
    if (benchmark.tool == plan::Tool::kNcclTests) {
        json["expected_busbw_gbs"] = row.expected.busbw;
        json["algorithm"] = plan::to_string(row.expected.algorithm);
        json["protocol"] = plan::to_string(row.expected.protocol);
    }
    if (measured) {
        json["verdict"] = plan::to_string(row.verdict);
        json["times_slower"] = row.slower;
        json["line"] = row.measured.line;
    }
    return json;
}

Json facts_json(const std::vector<plan::Fact>& facts) {
    Json list = Json::array();
    for (const plan::Fact& fact : facts) {
        list.push_back({{"place", fact.place}, {"text", fact.text}});
    }
    return list;
}

Json cause_json(const plan::LikelyFault& likely) {
    Json look = Json::array();
    for (const char* const each : likely.fault->look_at) {
        look.push_back(each);
    }
    return {{"name", likely.fault->name},
            {"text", likely.text},
            {"explained", likely.explained},
            {"rows_within", likely.rows_within},
            {"as_likely_as_the_one_before", likely.as_likely},
            {"speaks_for", facts_json(likely.speaks_for)},
            {"speaks_against", facts_json(likely.speaks_against)},
            {"look_at", std::move(look)}};
}

}  // namespace

std::string to_json(const ExpectReport& report) {
    Json tables = Json::array();
    for (const plan::JudgedTable& table : report.diagnosis.tables) {
        const plan::Benchmark& benchmark = *table.run.table.benchmark;
        Json rows = Json::array();
        for (const plan::JudgedRow& row : table.rows) {
            rows.push_back(row_json(benchmark, row, report.measured));
        }
        Json json{{"benchmark", benchmark.name}, {"tool", plan::to_string(benchmark.tool)}};
        if (report.measured) {
            json["file"] = table.run.table.file;
            json["line"] = table.run.table.line;
        }
        json["nodes"] = table.run.nodes;
        json["ranks_per_node"] = table.run.per_node;
        json["rows"] = std::move(rows);
        tables.push_back(std::move(json));
    }
    Json causes = Json::array();
    for (const plan::LikelyFault& likely : report.diagnosis.faults) {
        causes.push_back(cause_json(likely));
    }
    Json whole{{"cluster", report.question.cluster}, {"tables", std::move(tables)}};
    if (report.measured) {
        whole["rows"] = report.diagnosis.rows;
        whole["off"] = report.diagnosis.off;
        whole["causes"] = std::move(causes);
        whole["facts"] = facts_json(report.diagnosis.facts);
    }
    whole["notes"] = report.notes;
    whole["assumptions"] = report.assumptions;
    whole["evidence"] = report.evidence;
    return json_text(whole);
}

}  // namespace softib::answer
