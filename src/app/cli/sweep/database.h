// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The results of a sweep in an SQLite file: one table, `points`, with a row for each point. Its
// columns are the key of the row, the varied keys, the figures of the outcome, and the whole report
// as JSON. Each row is a transaction of its own, so that it survives if the process is killed.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "run/points.h"
#include "telemetry/store/database.h"

namespace softib::app::sweep {

using Outcome = run::PointOutcome;

class Database {
  public:
    using Result = std::expected<void, std::string>;
    using Parameters = std::vector<std::pair<std::string, std::string>>;

    /// Opens the file, or makes it, with a column for each varied key. Errors are for the user.
    static std::expected<Database, std::string> open(const std::string& file,
                                                     const std::vector<std::string>& keys);

    /// Stores an outcome, in place of the one that was stored under this key.
    Result store(const std::string& key, std::uint64_t number, const Parameters& parameters,
                 const Outcome& outcome);
    /// Returns the outcome that is stored under this key; std::nullopt if there is none.
    std::expected<std::optional<Outcome>, std::string> load(const std::string& key);

  private:
    Database(std::string file, telemetry::Database rows)
        : file_(std::move(file)), rows_(std::move(rows)) {}
    std::unexpected<std::string> error() const;
    Result make_table(const std::vector<std::string>& keys);

    std::string file_;
    telemetry::Database rows_;
};

}  // namespace softib::app::sweep
