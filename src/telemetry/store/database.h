// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A thin layer over SQLite: a connection, prepared statements, and errors as sentences.

#include <sqlite3.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace softib::telemetry {

/// A prepared statement. Values are bound by position, from 1 on, and stay until the next reset().
class Statement {
  public:
    Statement() = default;
    Statement(sqlite3* db, const char* sql);

    explicit operator bool() const { return statement_ != nullptr; }
    Statement& bind(int position, std::int64_t value);
    Statement& bind(int position, std::string_view text);
    Statement& bind_blob(int position, std::string_view bytes);
    /// Returns SQLITE_ROW, SQLITE_DONE, or an error.
    int step();
    /// Runs a statement that returns no rows, and makes it ready for the next time.
    bool run();
    void reset();

    std::int64_t number(int column) const;
    double real(int column) const;
    bool is_null(int column) const;
    std::string_view bytes(int column) const;  ///< Valid until the next step().

  private:
    struct Finalize {
        void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
    };
    std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
  public:
    /// Opens a file; makes it if it is missing and `writable`. `busy_ms` is how long statements
    /// wait for another process that writes.
    static std::expected<Database, std::string> open(const std::string& path, bool writable,
                                                     int busy_ms = 2000);

    bool execute(const char* sql);
    Statement prepare(const char* sql) { return {db_.get(), sql}; }
    /// Runs a query. Returns the number in the first column of the first row; 0 if there is none.
    std::int64_t number(const char* sql);
    std::string error() const;

  private:
    struct Close {
        void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
    };
    std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace softib::telemetry
