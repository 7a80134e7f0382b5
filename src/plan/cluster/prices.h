// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a cluster's network costs and what it draws: ranges, because list prices are not public. A
// user's file replaces any of them (spec/cluster).

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

/// Of one thing: US dollars, or watts where the name says so.
struct Price {
    std::string name = {};
    double low = 0;
    double high = 0;
    std::string source = {};
};
using Prices = std::vector<Price>;
Prices default_prices();

struct CostLine {
    std::string what = {};
    double count = 0;
    Range each = {};
    Range together = {};
};

struct Bill {
    std::vector<CostLine> lines = {};
    Range network_usd = {};  ///< Without nodes.
    Range nodes_usd = {};
    Range network_w = {};
    Range nodes_w = {};
};
/// Of a cluster whose fabric has this report.
Bill make_bill(const Cluster& cluster, const topo::Report& report, const Prices& prices);

}  // namespace softib::plan
