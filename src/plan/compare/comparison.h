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

namespace softib::plan {

struct ComparisonRow {
    std::string name = {};
    std::vector<double> values = {};  ///< By column; empty: it cannot be built.
    std::string note = {};            ///< Why not, or what is special.
    std::uint64_t bytes = 0;          ///< Where rows differ in size: that.
};

struct Comparison {
    std::string title = {};
    std::string first_column = {};  ///< What rows differ in.
    std::vector<std::string> columns = {};
    std::vector<ComparisonRow> rows = {};
    std::vector<std::string> notes = {};  ///< What is assumed.
};

struct CompareRequest {
    Cluster cluster = {};
    std::uint64_t bytes = 1'000'000'000;
    net::ModelKind model = net::ModelKind::kFlow;
    /// Told before each row: how many are done, of how many, and which is next.
    std::function<void(std::size_t, std::size_t, const std::string&)> progress = {};
};

/// Leaves with 1, 2, 4 and 7 cables down for one up.
Comparison compare_oversubscription(const CompareRequest& request);
/// Trees, rails, dragonflies, torus and HyperX for the same hosts.
Comparison compare_topology(const CompareRequest& request);
/// EDR to GDR.
Comparison compare_generation(const CompareRequest& request);
/// InfiniBand with adaptive routing, and RoCE with fixed routes, full and oversubscribed.
Comparison compare_link_layer(const CompareRequest& request);
/// Rings and trees of hosts against switches that aggregate, by size.
Comparison compare_sharp(const CompareRequest& request);
/// One and two switches of the level above the leaves lost.
Comparison compare_failed_spine(const CompareRequest& request);
/// The KV cache of a prompt from a prefill node to a decode node, over 1 to 8 rails.
Comparison compare_kv_cache(const CompareRequest& request);

/// By the names of the command line: "oversubscription", "topology", ...; the error names the
/// nearest one.
std::expected<Comparison, std::string> compare(std::string_view what,
                                               const CompareRequest& request);

}  // namespace softib::plan
