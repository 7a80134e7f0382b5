// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sweep/database.h"

#include <fmt/format.h>
#include <sqlite3.h>

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

std::string text_at(sqlite3_stmt* statement, int place) {
    const void* const text = sqlite3_column_blob(statement, place);
    const int size = sqlite3_column_bytes(statement, place);
    return text == nullptr
               ? std::string()
               : std::string(static_cast<const char*>(text), static_cast<std::size_t>(size));
}

}  // namespace

struct Database::State {
    struct Closer {
        void operator()(sqlite3* open) const { sqlite3_close(open); }
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    using Handle = std::unique_ptr<sqlite3, Closer>;
    using Statement = std::unique_ptr<sqlite3_stmt, Closer>;

    std::string file;
    Handle handle;

    std::unexpected<std::string> error() const {
        return std::unexpected(fmt::format("{}: {}", file, sqlite3_errmsg(handle.get())));
    }
    std::expected<Statement, std::string> prepare(const std::string& sql) const {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(handle.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
            return error();
        }
        return Statement(statement);
    }
    Result execute(const std::string& sql) const {
        return sqlite3_exec(handle.get(), sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK
                   ? Result{}
                   : error();
    }
    std::expected<std::set<std::string>, std::string> columns() const {
        const auto statement = prepare("PRAGMA table_info(points)");
        if (!statement) {
            return std::unexpected(statement.error());
        }
        std::set<std::string> names;
        while (sqlite3_step(statement->get()) == SQLITE_ROW) {
            names.insert(text_at(statement->get(), 1));
        }
        return names;
    }
    Result make_table(const std::vector<std::string>& keys) const {
        std::string sql =
            "CREATE TABLE IF NOT EXISTS points (\"key\" TEXT PRIMARY KEY, number INTEGER";
        for (const std::string& key : keys) {
            sql += ", " + column(key) + " TEXT";
        }
        sql += ", status TEXT NOT NULL, error TEXT";
        for (const std::string& name : number_names()) {
            sql += ", " + column(name) + " REAL";
        }
        if (auto made = execute(sql + ", log_hash TEXT, report TEXT)"); !made) {
            return made;
        }
        // A sweep that was extended may have keys for which the table has no column yet.
        const auto present = columns();
        if (!present) {
            return std::unexpected(present.error());
        }
        for (const std::string& key : keys) {
            if (present->contains(key)) {
                continue;
            }
            if (auto added = execute("ALTER TABLE points ADD COLUMN " + column(key) + " TEXT");
                !added) {
                return added;
            }
        }
        return {};
    }
};

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;
Database::~Database() = default;

std::expected<Database, std::string> Database::open(const std::string& file,
                                                    const std::vector<std::string>& keys) {
    auto state = std::make_unique<State>();
    state->file = file;
    sqlite3* handle = nullptr;
    const int opened = sqlite3_open(file.c_str(), &handle);
    state->handle.reset(handle);
    if (opened != SQLITE_OK) {
        return std::unexpected(
            fmt::format("cannot write the results to {}: {}; say with --db where they may be", file,
                        handle == nullptr ? sqlite3_errstr(opened) : sqlite3_errmsg(handle)));
    }
    sqlite3_busy_timeout(handle, kBusyMs);
    if (auto made = state->make_table(keys); !made) {
        return std::unexpected(made.error() + "; say with --db which file the results may be in");
    }
    return Database(std::move(state));
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
        // A point that failed has no numbers.
        places += outcome.failed ? std::string(", NULL") : fmt::format(", {}", value);
    });
    const auto statement = state_->prepare(
        fmt::format("INSERT OR REPLACE INTO points ({}) VALUES ({})", names, places));
    if (!statement) {
        return std::unexpected(statement.error());
    }
    for (std::size_t i = 0; i < texts.size(); ++i) {
        sqlite3_bind_text(statement->get(), static_cast<int>(i + 1), texts[i].data(),
                          static_cast<int>(texts[i].size()), SQLITE_STATIC);
    }
    return sqlite3_step(statement->get()) == SQLITE_DONE ? Result{} : state_->error();
}

std::expected<std::optional<Outcome>, std::string> Database::load(const std::string& key) {
    std::string sql = "SELECT status, error, log_hash, report";
    for (const std::string& name : number_names()) {
        sql += ", " + column(name);
    }
    const auto statement = state_->prepare(sql + " FROM points WHERE \"key\" = ?");
    if (!statement) {
        return std::unexpected(statement.error());
    }
    sqlite3_stmt* const row = statement->get();
    sqlite3_bind_text(row, 1, key.data(), static_cast<int>(key.size()), SQLITE_STATIC);
    const int stepped = sqlite3_step(row);
    if (stepped == SQLITE_DONE) {
        return std::optional<Outcome>();
    }
    if (stepped != SQLITE_ROW) {
        return state_->error();
    }
    Outcome outcome{.failed = text_at(row, 0) != "done",
                    .error = text_at(row, 1),
                    .log_hash = text_at(row, 2),
                    .report = text_at(row, 3)};
    int place = 4;
    for_each_number(outcome, [&](const char*, auto& value) {
        if constexpr (std::is_floating_point_v<std::remove_reference_t<decltype(value)>>) {
            value = sqlite3_column_double(row, place++);
        } else {
            value = static_cast<std::uint64_t>(sqlite3_column_int64(row, place++));
        }
    });
    return outcome;
}

}  // namespace softib::app::sweep
