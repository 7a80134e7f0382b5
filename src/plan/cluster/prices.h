// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Cost and power of a cluster's network, as ranges, because list prices are not public. A user's
// file can replace each of the prices (spec/cluster).

#include <string>
#include <string_view>
#include <vector>

#include "core/topo/report.h"
#include "plan/cluster/cluster.h"

namespace softib::plan {

struct Range {
    double low = 0;
    double high = 0;

    Range operator*(double by) const { return {low * by, high * by}; }
    Range& operator+=(const Range& other) {
        low += other.low;
        high += other.high;
        return *this;
    }
    friend bool operator==(const Range&, const Range&) = default;
};

/// The price of one item in US dollars, or its power in watts if the name ends with "_w". The price
/// of a node is that of its GPUs ("gpu", with a share of the server) unless "node" is more than 0.
/// "gpu_h100" and others of a kind have their own price unless it is 0, which means that of "gpu".
struct Price {
    std::string name = {};
    double low = 0;
    double high = 0;
    std::string source = {};

    friend bool operator==(const Price&, const Price&) = default;
};
using Prices = std::vector<Price>;
/// Returns the prices of prices.toml.
Prices default_prices();

struct CostLine {
    std::string what = {};
    double count = 0;
    Range each = {};
    Range together = {};
};

struct Bill {
    std::vector<CostLine> lines = {};
    Range network_usd = {};  ///< Cost of everything except nodes.
    Range nodes_usd = {};
    Range network_w = {};
    Range nodes_w = {};
};
/// Returns the bill of a cluster; `report` counts the switches and cables of one of its planes.
Bill make_bill(const Cluster& cluster, const topo::Report& report, const Prices& prices);

/// What a cluster costs while it is used, in US dollars a second.
struct RunningCost {
    Range capital = {};  ///< Nodes and network, divided by the years of their use; or rent.
    Range energy = {};
    Range hosting = {};

    Range all() const;
};
/// Returns the costs of a cluster with this bill and `gpus` GPUs.
RunningCost running_cost(const Bill& bill, std::uint32_t gpus, const Prices& prices);

}  // namespace softib::plan
