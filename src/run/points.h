// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The points of a sweep with their outcomes.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "spec/scenario/sweep.h"

namespace softib::run {

/// The result of simulating a point.
struct PointOutcome {
    bool failed = false;
    std::string error = {};  ///< Why the point failed, if it did.
    std::uint64_t messages = 0;
    std::uint64_t delivered = 0;
    // These are plan::kUnknown if nothing was delivered, the first if not all was.
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

/// A point, with what became of it.
struct PointRow {
    std::uint64_t number = 0;
    spec::SweepPoint point = {};
    std::optional<PointOutcome> outcome = {};  ///< std::nullopt: it has not been simulated.

    const char* status() const {
        return !outcome ? "missing" : outcome->failed ? "failed" : "done";
    }
};
struct SweepReport {
    std::vector<PointRow> rows = {};
    bool stopped = false;  ///< Whether the user stopped it before its end.
};

/// Returns what the figures of all points are worth, each sentence once.
std::vector<std::string> basis_of(const SweepReport& report);

std::string to_json(const SweepReport& report);
std::string to_csv(const SweepReport& report);

}  // namespace softib::run
