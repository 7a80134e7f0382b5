// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// `softib sim --compare`: the same traffic on several networks, side by side.

#include <cstdint>
#include <string>
#include <vector>

#include "app/cli/sim/report.h"
#include "plan/distribution.h"

namespace softib::app::sim {

/// A network and what became of all traffic on it.
struct Compared {
    std::string name = {};  ///< "ib", "roce+ecmp=spray"
    Report report = {};
};

struct Comparison {
    std::string title = {};
    std::vector<Compared> variants = {};  ///< Not empty.
};

/// Of all traffics together.
struct ComparedFigures {
    std::uint64_t messages = 0;
    std::uint64_t delivered = 0;
    std::uint64_t failed = 0;
    plan::TimePs finished_at = 0;  ///< When the last message was delivered.
    double gbps = 0;               ///< What traffics got, added up.
    plan::Distribution completion_us = {};
    plan::Distribution message_gbps = {};
    std::uint64_t dropped = 0;  ///< Packets, by switches, adapters and cables.
    double xmit_wait = 0;       ///< Part of the run that a port with traffic waited, on average.
    std::uint64_t victims = 0;  ///< Flows that waited behind the roots of others' congestion.
};
ComparedFigures figures_of(const Report& report);
/// A table for people: what each line is about, and what it was on each network; names first.
std::vector<std::vector<std::string>> comparison_rows(const Comparison& comparison);

std::string to_text(const Comparison& comparison);
std::string to_json(const Comparison& comparison);
/// A line of figures for each network; those that nobody knows are empty.
std::string to_csv(const Comparison& comparison);
std::string to_html(const Comparison& comparison);

}  // namespace softib::app::sim
