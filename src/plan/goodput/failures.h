// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What interrupts training, and how often: rates of failures by component, from failures.toml. A
// user's file can change each of them and add others (spec/cluster/failures_file.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace softib::plan {

/// What a rate of failures counts.
enum class FailureOf : std::uint8_t { kGpu, kNic, kNode, kJob };
/// What a job cannot use until it is repaired. A link is a NIC's cable or the switch behind it.
enum class Loses : std::uint8_t { kNothing, kNode, kNic, kLink };

const char* to_string(FailureOf of);
const char* to_string(Loses loses);
std::optional<FailureOf> parse_failure_of(std::string_view text);
std::optional<Loses> parse_loses(std::string_view text);

struct FailureKind {
    std::string name = {};
    FailureOf of = FailureOf::kGpu;
    double per_million_hours = 0;  ///< Failures of one GPU, NIC, node or job.
    Loses loses = Loses::kNothing;
    bool hangs = false;    ///< Whether it is noticed by the timeout of a collective alone.
    bool planned = false;  ///< Whether the job saves its work before.
    double replaced = 0;   ///< Part of the cases in which hardware is replaced.
    std::string source = {};

    friend bool operator==(const FailureKind&, const FailureKind&) = default;
};

struct Failures {
    double reset_hours = 0;    ///< Mean time until a node or link is back after a reset.
    double replace_hours = 0;  ///< The same after hardware was replaced.
    std::vector<FailureKind> kinds = {};

    friend bool operator==(const Failures&, const Failures&) = default;
};
/// Returns the failures of failures.toml.
const Failures& default_failures();

}  // namespace softib::plan
