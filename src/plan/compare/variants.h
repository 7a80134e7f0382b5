// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Tables of clusters that differ in one thing, with the same operations timed on each. Internal to
// this folder.

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "core/topo/graph.h"
#include "net/sim/failures.h"
#include "plan/cluster/cluster.h"
#include "plan/collective/evidence.h"
#include "plan/compare/comparison.h"

namespace softib::plan {

/// A cluster that differs from the others in one thing.
struct Variant {
    std::string name;
    Cluster cluster;
    std::vector<net::Failure> failures = {};
    std::string note = {};
    std::uint32_t leaf_ports = 0;  ///< Ports of a leaf switch that is bought; 0: as generated.
};

/// The last columns of every table of variants: what a network is made of, costs and consumes.
inline constexpr std::array kCounts{"switches", "cables", "M$ from", "M$ to", "kW to"};

/// Returns the fabric of a variant with the leaf switches that are bought, some of whose ports may
/// be free.
std::expected<topo::Fabric, topo::Error> fabric_of(const Variant& variant);

std::uint32_t domains_of(const Cluster& cluster);
/// Adds what validates the times of one algorithm.
void add_evidence(Comparison& result, const std::vector<Question>& questions);
void add_assumptions(Comparison& result, net::ModelKind model);

/// Times the operations of every table on each variant, and counts what its network is made of.
Comparison compare_variants(std::string title, std::string first_column,
                            const std::vector<Variant>& variants, const CompareRequest& request);

}  // namespace softib::plan
