// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Faults that slow a cluster down, each as a change of its setting. The model says what a benchmark
// gives with a fault planted; diagnosis.h compares that with what was measured. To add a fault, add
// a row to faults.cc.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/expect/benchmark.h"
#include "plan/expect/expectation.h"

namespace softib::plan {

struct Fault {
    const char* name;  ///< "rail-missing"
    /// How bad it can be: numbers that plant() takes.
    std::span<const double> levels;
    /// Returns a run with the fault; std::nullopt if a run of this kind cannot have it.
    std::optional<Setting> (*plant)(const Setting& run, Tool tool, double level);
    /// Returns the fault in words: "1 of 8 NICs of a node is missing".
    std::string (*show)(const Setting& run, double level);
    std::span<const char* const> look_at;  ///< What tells whether it is there: commands, files.
    /// Returns 1 if a fact speaks for the fault, -1 if it speaks against it, else 0.
    int (*weigh)(const Fact& fact, const Setting& run) = nullptr;
};
std::span<const Fault> faults();

}  // namespace softib::plan
