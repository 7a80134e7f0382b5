// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sweep/points.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "app/cli/json_text.h"
#include "app/fabric/term.h"
#include "plan/units.h"

namespace softib::app::sweep {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kRowsShown = 100;

/// Returns a cell of comma-separated values, in quotes if it needs them.
std::string cell(const std::string& text) {
    if (text.find_first_of(",\"\n") == text.npos) {
        return text;
    }
    std::string out = "\"";
    for (const char c : text) {
        out += c == '"' ? "\"\"" : std::string(1, c);
    }
    return out + "\"";
}

const char* status_of(const PointRow& row) {
    return !row.outcome ? "missing" : row.outcome->failed ? "failed" : "done";
}

std::string micro(double us) {
    return plan::show_time(static_cast<plan::TimePs>(us * 1e6));
}

}  // namespace

std::string to_text(const std::vector<PointRow>& rows) {
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
                std::vector<std::string>{fmt::format("{}/{}", of.delivered, of.messages),
                                         micro(of.duration_us), micro(of.completion_p50_us),
                                         micro(of.completion_p99_us), plan::show_rate(of.gbps),
                                         plan::show_rate(of.message_gbps),
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

std::string to_json(const std::vector<PointRow>& rows) {
    Json all = Json::array();
    for (const PointRow& row : rows) {
        Json one{{"number", row.number}, {"status", status_of(row)}};
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
    return json_text({{"points", std::move(all)}});
}

std::string to_csv(const std::vector<PointRow>& rows) {
    std::string text = "number";
    if (!rows.empty()) {
        for (const auto& [key, value] : rows.front().point) {
            text += "," + key;
        }
    }
    text += ",status";
    for_each_number(Outcome{}, [&](const char* name, auto) { text += fmt::format(",{}", name); });
    text += ",log_hash,error\n";
    for (const PointRow& row : rows) {
        text += std::to_string(row.number);
        for (const auto& [key, value] : row.point) {
            text += "," + cell(value);
        }
        text += fmt::format(",{}", status_of(row));
        const Outcome outcome = row.outcome.value_or(Outcome{});
        const bool known = row.outcome && !row.outcome->failed;
        for_each_number(outcome, [&](const char*, auto value) {
            text += known ? fmt::format(",{}", value) : ",";
        });
        text += fmt::format(",{},{}\n", outcome.log_hash, cell(outcome.error));
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
    for_each_number(outcome,
                    [&](const char* name, auto& value) { value = message.value(name, value); });
    return outcome;
}

}  // namespace softib::app::sweep
