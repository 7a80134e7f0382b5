// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Questions that people have before they buy a network, each answered by a table: the same
// operations on clusters that differ in one thing.

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "net/model.h"
#include "plan/cluster/cluster.h"
#include "plan/cluster/prices.h"

namespace softib::plan {

struct ComparisonRow {
    std::string name = {};
    std::vector<double> values = {};  ///< One value for each column; empty: it cannot be computed.
    std::string note = {};            ///< Why it cannot be computed, or what is special.
    std::uint64_t bytes = 0;          ///< Size of the operation, where rows differ in it.
    std::string mapping = {};         ///< The mapping of a training job.
};

struct Comparison {
    std::string title = {};
    std::string first_column = {};  ///< What rows differ in: "topology".
    std::vector<std::string> columns = {};
    std::vector<ComparisonRow> rows = {};
    std::vector<std::string> notes = {};  ///< Assumptions, and what explains the numbers.
};

struct CompareRequest {
    Cluster cluster = {};
    std::uint64_t bytes = 1'000'000'000;
    net::ModelKind model = net::ModelKind::kFlow;
    Prices prices = default_prices();
    /// Called before each row with the rows that are done, the number of all rows, and the name of
    /// the next one.
    std::function<void(std::size_t, std::size_t, const std::string&)> progress = {};
};

/// Compares leaf switches with 1, 2, 4 and 7 cables to hosts for each cable to spines, all with the
/// switches of the cluster.
Comparison compare_oversubscription(const CompareRequest& request);
/// Compares trees, rails, dragonflies, torus and HyperX for the same hosts.
Comparison compare_topology(const CompareRequest& request);
/// Compares link generations from EDR to GDR.
Comparison compare_generation(const CompareRequest& request);
/// Compares InfiniBand with adaptive routing and RoCE without it, full and oversubscribed.
Comparison compare_link_layer(const CompareRequest& request);
/// Compares rings and trees of hosts with switches that aggregate (SHARP), for several sizes.
Comparison compare_sharp(const CompareRequest& request);
/// Compares the fabric without failures to the same one without one and two of the switches above
/// the leaves.
Comparison compare_failed_spine(const CompareRequest& request);
/// Compares the transfer of a prompt's KV cache from a prefill node to a decode node over 1, 2, 4
/// ... rails.
Comparison compare_kv_cache(const CompareRequest& request);

/// Compares NICs whole and split over 2, 4 and 8 planes, and 8 of which one has failed.
Comparison compare_planes(const CompareRequest& request);

/// Makes the comparison that the command line calls `what`: "oversubscription", "topology", ... The
/// error names the nearest one.
std::expected<Comparison, std::string> compare(std::string_view what,
                                               const CompareRequest& request);

}  // namespace softib::plan
