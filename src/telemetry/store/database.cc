// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/store/database.h"

#include <fmt/format.h>

namespace softib::telemetry {

Statement::Statement(sqlite3* db, const char* sql) {
    sqlite3_stmt* statement = nullptr;
    sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    statement_.reset(statement);
}

Statement& Statement::bind(int position, std::int64_t value) {
    sqlite3_bind_int64(statement_.get(), position, value);
    return *this;
}

Statement& Statement::bind(int position, std::string_view text) {
    sqlite3_bind_text(statement_.get(), position, text.data(), static_cast<int>(text.size()),
                      SQLITE_STATIC);
    return *this;
}

Statement& Statement::bind_blob(int position, std::string_view bytes) {
    sqlite3_bind_blob(statement_.get(), position, bytes.data(), static_cast<int>(bytes.size()),
                      SQLITE_STATIC);
    return *this;
}

int Statement::step() {
    return statement_ ? sqlite3_step(statement_.get()) : SQLITE_MISUSE;
}

bool Statement::run() {
    const bool good = step() == SQLITE_DONE;
    reset();
    return good;
}

void Statement::reset() {
    sqlite3_reset(statement_.get());
}

std::int64_t Statement::number(int column) const {
    return sqlite3_column_int64(statement_.get(), column);
}

double Statement::real(int column) const {
    return sqlite3_column_double(statement_.get(), column);
}

bool Statement::is_null(int column) const {
    return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

std::string_view Statement::bytes(int column) const {
    const void* const data = sqlite3_column_blob(statement_.get(), column);
    const int size = sqlite3_column_bytes(statement_.get(), column);
    return data == nullptr
               ? std::string_view{}
               : std::string_view(static_cast<const char*>(data), static_cast<std::size_t>(size));
}

std::expected<Database, std::string> Database::open(const std::string& path, bool writable,
                                                    int busy_ms) {
    Database database;
    sqlite3* db = nullptr;
    const int flags = writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    const int status = sqlite3_open_v2(path.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, nullptr);
    database.db_.reset(db);
    if (status != SQLITE_OK) {
        return std::unexpected(fmt::format("cannot open {}: {}", path,
                                           db == nullptr ? "no memory" : database.error()));
    }
    sqlite3_busy_timeout(db, busy_ms);
    return database;
}

bool Database::execute(const char* sql) {
    return sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr) == SQLITE_OK;
}

std::int64_t Database::number(const char* sql) {
    Statement statement = prepare(sql);
    return statement && statement.step() == SQLITE_ROW ? statement.number(0) : 0;
}

std::string Database::error() const {
    return sqlite3_errmsg(db_.get());
}

}  // namespace softib::telemetry
