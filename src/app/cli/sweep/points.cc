// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sweep/points.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <type_traits>

#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app::sweep {

namespace {

using Json = nlohmann::ordered_json;
using run::PointRow;

constexpr std::size_t kRowsShown = 100;

}  // namespace

std::string to_text(const run::SweepReport& report) {
    const std::vector<PointRow>& rows = report.rows;
    if (rows.empty()) {
        return "";
    }
    std::vector<std::string> header;
    for (const auto& [key, value] : rows.front().point) {
        header.push_back(key);
    }
    std::ranges::copy(std::vector<std::string>{"DELIVERED", "TIME", "MEDIAN", "99 %", "TOGETHER",
                                               "PER MESSAGE", "SLOWEST"},
                      std::back_inserter(header));
    Table table(header);
    for (const PointRow& row : rows) {
        if (&row - rows.data() == kRowsShown) {
            break;
        }
        std::vector<std::string> cells;
        for (const auto& [key, value] : row.point) {
            cells.push_back(value);
        }
        if (!row.outcome || row.outcome->failed) {
            cells.push_back(!row.outcome ? painted("missing", Colour::kYellow)
                                         : painted("failed: ", Colour::kRed) + row.outcome->error);
            cells.resize(header.size());
        } else {
            const Outcome& of = *row.outcome;
            std::ranges::copy(
                std::vector<std::string>{
                    fmt::format("{}/{}", of.delivered, of.messages), plan::show_us(of.duration_us),
                    plan::show_us(of.completion_p50_us), plan::show_us(of.completion_p99_us),
                    plan::show_rate(of.gbps), plan::show_rate(of.message_gbps),
                    plan::show_rate(of.slowest_gbps)},
                std::back_inserter(cells));
        }
        table.row(std::move(cells));
    }
    std::string text = table.text();
    if (rows.size() > kRowsShown) {
        text += fmt::format("and {} more: --csv has all\n", rows.size() - kRowsShown);
    }
    return text;
}

std::string to_message(const Outcome& outcome) {
    Json message{{"failed", outcome.failed},
                 {"error", outcome.error},
                 {"log_hash", outcome.log_hash},
                 {"report", outcome.report}};
    for_each_number(outcome, [&](const char* name, auto value) { message[name] = value; });
    return message.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Outcome> from_message(const std::string& text) {
    const Json message = Json::parse(text, nullptr, false);
    if (!message.is_object()) {
        return std::nullopt;
    }
    Outcome outcome{.failed = message.value("failed", true),
                    .error = message.value("error", ""),
                    .log_hash = message.value("log_hash", ""),
                    .report = message.value("report", "")};
    for_each_number(outcome, [&](const char* name, auto& value) {
        using Number = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_floating_point_v<Number>) {
            // What is unknown is null in JSON.
            const auto found = message.find(name);
            value = found != message.end() && found->is_number() ? found->template get<Number>()
                                                                 : plan::kUnknown;
        } else {
            value = message.value(name, value);
        }
    });
    return outcome;
}

}  // namespace softib::app::sweep
