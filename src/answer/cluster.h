// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What clusters are made of, and which there are (`softib plan show` and `presets`).

#include <array>
#include <expected>
#include <string>

#include "answer/question.h"
#include "core/topo/report.h"
#include "plan/cluster/prices.h"

namespace softib::answer {

struct ClusterReport {
    plan::Cluster cluster = {};
    topo::Fabric fabric = {};
    topo::Report report = {};
    plan::Bill bill = {};
};
std::expected<ClusterReport, Refusal> show(const ClusterQuestion& question);

/// What the figures of a cluster are worth.
inline constexpr std::array kBasis{
    "switches and cables are counted in the fabric that `softib up` would make; nearest rows of "
    "docs/validation.md: T1, T2 (SuperPODs of H100), T4 (Meta's RoCE cluster)",
    "no published figure validates what a network costs and consumes"};

std::string to_json(const ClusterReport& report);
/// Returns the clusters and GPUs that are known by name, as JSON.
std::string presets_json();

}  // namespace softib::answer
