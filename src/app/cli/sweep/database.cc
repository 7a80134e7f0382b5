// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sweep/database.h"

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <set>
#include <type_traits>

namespace softib::app::sweep {

namespace {

constexpr int kBusyMs = 60'000;  ///< How long a process waits for another that writes.

/// Returns the name of a column in quotes, for SQL.
std::string column(std::string_view name) {
    std::string text = "\"";
    for (const char c : name) {
        text += c == '"' ? "\"\"" : std::string(1, c);
    }
    return text + "\"";
}

std::vector<std::string> number_names() {
    std::vector<std::string> names;
    for_each_number(Outcome{}, [&](const char* name, auto) { names.emplace_back(name); });
    return names;
}

}  // namespace

std::unexpected<std::string> Database::error() const {
    return std::unexpected(fmt::format("{}: {}", file_, rows_.error()));
}

Database::Result Database::make_table(const std::vector<std::string>& keys) {
    std::string sql = "CREATE TABLE IF NOT EXISTS points (\"key\" TEXT PRIMARY KEY, number INTEGER";
    for (const std::string& key : keys) {
        sql += ", " + column(key) + " TEXT";
    }
    sql += ", status TEXT NOT NULL, error TEXT";
    for (const std::string& name : number_names()) {
        sql += ", " + column(name) + " REAL";
    }
    if (!rows_.execute((sql + ", log_hash TEXT, report TEXT)").c_str())) {
        return error();
    }
    // A sweep that was extended may have keys for which the table has no column yet.
    std::set<std::string, std::less<>> present;
    telemetry::Statement info = rows_.prepare("PRAGMA table_info(points)");
    while (info.step() == SQLITE_ROW) {
        present.emplace(info.bytes(1));
    }
    for (const std::string& key : keys) {
        if (!present.contains(key) &&
            !rows_.execute(("ALTER TABLE points ADD COLUMN " + column(key) + " TEXT").c_str())) {
            return error();
        }
    }
    return {};
}

std::expected<Database, std::string> Database::open(const std::string& file,
                                                    const std::vector<std::string>& keys) {
    auto rows = telemetry::Database::open(file, true, kBusyMs);
    if (!rows) {
        return std::unexpected(rows.error() + "; say with --db where the results may be");
    }
    Database database(file, *std::move(rows));
    if (auto made = database.make_table(keys); !made) {
        return std::unexpected(made.error() + "; say with --db which file the results may be in");
    }
    return database;
}

Database::Result Database::store(const std::string& key, std::uint64_t number,
                                 const Parameters& parameters, const Outcome& outcome) {
    std::string names = "\"key\", number, status, error, log_hash, report";
    std::vector<std::string> texts{
        key,           std::to_string(number), outcome.failed ? "failed" : "done",
        outcome.error, outcome.log_hash,       outcome.report};
    for (const auto& [name, value] : parameters) {
        names += ", " + column(name);
        texts.push_back(value);
    }
    std::string places = "?";
    for (std::size_t i = 1; i < texts.size(); ++i) {
        places += ", ?";
    }
    for_each_number(outcome, [&](const char* name, auto value) {
        names += fmt::format(", \"{}\"", name);
        // A point that failed has no numbers, and one that delivered nothing knows few.
        const bool known = !outcome.failed && !std::isnan(static_cast<double>(value));
        places += known ? fmt::format(", {}", value) : std::string(", NULL");
    });
    const std::string sql =
        fmt::format("INSERT OR REPLACE INTO points ({}) VALUES ({})", names, places);
    telemetry::Statement statement = rows_.prepare(sql.c_str());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        statement.bind(static_cast<int>(i + 1), texts[i]);
    }
    return statement.step() == SQLITE_DONE ? Result{} : error();
}

std::expected<std::optional<Outcome>, std::string> Database::load(const std::string& key) {
    std::string sql = "SELECT status, error, log_hash, report";
    for (const std::string& name : number_names()) {
        sql += ", " + column(name);
    }
    telemetry::Statement row = rows_.prepare((sql + " FROM points WHERE \"key\" = ?").c_str());
    row.bind(1, key);
    const int stepped = row.step();
    if (stepped == SQLITE_DONE) {
        return std::optional<Outcome>();
    }
    if (stepped != SQLITE_ROW) {
        return error();
    }
    const auto text = [&](int place) { return std::string(row.bytes(place)); };
    Outcome outcome{
        .failed = row.bytes(0) != "done", .error = text(1), .log_hash = text(2), .report = text(3)};
    int place = 4;
    for_each_number(outcome, [&](const char*, auto& value) {
        if constexpr (std::is_floating_point_v<std::remove_reference_t<decltype(value)>>) {
            value = row.is_null(place) ? plan::kUnknown : row.real(place);
            ++place;
        } else {
            value = static_cast<std::uint64_t>(row.number(place++));
        }
    });
    return outcome;
}

}  // namespace softib::app::sweep
