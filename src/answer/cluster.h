// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What clusters are made of, and which there are (`softib plan show` and `presets`).

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

std::string to_json(const ClusterReport& report);
/// Returns the clusters and GPUs that are known by name, as JSON.
std::string presets_json();

}  // namespace softib::answer
