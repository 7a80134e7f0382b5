// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The results of a sweep in an SQLite file: one table, `points`, with a row for each point. Its
// columns are the key of the row, the varied keys, the figures of the outcome, and the whole report
// as JSON. Each row is a transaction of its own, so that it survives if the process is killed.

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace softib::app::sweep {

/// The result of simulating a point.
struct Outcome {
    bool failed = false;
    std::string error = {};  ///< Why the point failed, if it did.
    std::uint64_t messages = 0;
    std::uint64_t delivered = 0;
    double duration_us = 0;  ///< Virtual time until the last delivery.
    double gbps = 0;         ///< The rate of all messages together.
    double message_gbps = 0;
    double slowest_gbps = 0;
    double completion_p50_us = 0;
    double completion_p99_us = 0;
    double completion_max_us = 0;
    double cpu_seconds = 0;
    std::string log_hash = {};
    std::string report = {};  ///< The JSON of `softib sim --json`.
};

/// Calls visit(name, member) for each number of an outcome, in the order of columns.
void for_each_number(auto&& outcome, auto visit) {
    visit("messages", outcome.messages);
    visit("delivered", outcome.delivered);
    visit("duration_us", outcome.duration_us);
    visit("gbps", outcome.gbps);
    visit("message_gbps", outcome.message_gbps);
    visit("slowest_gbps", outcome.slowest_gbps);
    visit("completion_p50_us", outcome.completion_p50_us);
    visit("completion_p99_us", outcome.completion_p99_us);
    visit("completion_max_us", outcome.completion_max_us);
    visit("cpu_seconds", outcome.cpu_seconds);
}

class Database {
  public:
    using Result = std::expected<void, std::string>;
    using Parameters = std::vector<std::pair<std::string, std::string>>;

    /// Opens the file, or makes it, with a column for each varied key. Errors are for the user.
    static std::expected<Database, std::string> open(const std::string& file,
                                                     const std::vector<std::string>& keys);
    Database(Database&&) noexcept;
    Database& operator=(Database&&) noexcept;
    ~Database();

    /// Stores an outcome, in place of the one that was stored under this key.
    Result store(const std::string& key, std::uint64_t number, const Parameters& parameters,
                 const Outcome& outcome);
    /// Returns the outcome that is stored under this key; std::nullopt if there is none.
    std::expected<std::optional<Outcome>, std::string> load(const std::string& key);

  private:
    struct State;
    explicit Database(std::unique_ptr<State> state);

    std::unique_ptr<State> state_;
};

}  // namespace softib::app::sweep
