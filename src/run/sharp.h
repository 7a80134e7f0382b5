// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// An all-reduce that the switches compute (SHARP), in virtual time.

#include <expected>
#include <string>

#include "run/report.h"
#include "run/run.h"

namespace softib::run {

/// The report of one simulation, whose only traffic is the all-reduce, and what only SHARP has.
struct SharpReport {
    Report report = {};
    std::uint64_t bytes = 0;  ///< Size of each vector.
    net::SharpOutcome outcome = {};

    double us() const { return static_cast<double>(outcome.took_ps) * 1e-6; }
    double gbps() const { return static_cast<double>(bytes) * 8 / us() * 1e-3; }
    double link_gbps() const { return static_cast<double>(outcome.link_bytes_per_s) * 8e-9; }
    /// Returns the bytes that each host would send in a ring all-reduce.
    double ring_bytes() const {
        const double members = outcome.members;
        return 2 * (members - 1) / members * static_cast<double>(bytes);
    }
    double ring_us() const {
        return ring_bytes() / static_cast<double>(outcome.link_bytes_per_s) * 1e6;
    }
};

/// Simulates one all-reduce among all hosts. The error is for the user.
std::expected<SharpReport, std::string> simulate_sharp(const Run& run,
                                                       const spec::Experiment& experiment);
std::string to_json(const SharpReport& report);

}  // namespace softib::run
