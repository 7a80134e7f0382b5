// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Routing engines: a graph in, tables out. An engine is a name and a pure function; the same graph
// and options always give the same tables.

#include <algorithm>
#include <cstdint>
#include <expected>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/routing/graph.h"
#include "core/routing/tables.h"

namespace softib::routing {

struct Options {
    /// Switches of the top level, for updn and ftree; if empty, the engine finds them.
    std::vector<Guid> roots = {};
    /// Data VLs that every link of the subnet has (PortInfo.OperationalVLs), 1 to 15.
    std::uint8_t data_vls = 8;
    bool qos = true;        ///< Whether SL2VL tables are written; if not, all traffic is on VL 0.
    bool adaptive = false;  ///< Also find longer ways for switches that choose by load.
    /// Sizes of the torus that dor must find; if empty, any torus will do.
    std::vector<std::uint32_t> torus_dimensions = {};

    std::uint8_t usable_vls() const {
        return qos ? std::clamp<std::uint8_t>(data_vls, 1, 15) : std::uint8_t{1};
    }
    /// Returns the service levels for engines with VL = SL: one for each usable VL.
    std::vector<std::uint8_t> sls() const;
};

/// A routing engine: a name, and the function that computes tables.
struct Engine {
    std::string_view name;
    std::string_view purpose;  ///< One line for a list of engines.
    std::expected<Tables, Error> (*route)(const Graph& graph, const Options& options);
};

std::span<const Engine> engines();
/// Returns the engine of this name; nullptr if there is none.
const Engine* find_engine(std::string_view name);

/// Routes with the engine that fits the shape of the graph. Where several would do, and the graph
/// is not too large, it tries them and takes the one whose tables let the fewest flows meet.
std::expected<Tables, Error> route_auto(const Graph& graph, const Options& options);
std::expected<Tables, Error> route_with_minhop(const Graph& graph, const Options& options);
std::expected<Tables, Error> route_with_updn(const Graph& graph, const Options& options);
std::expected<Tables, Error> route_with_ftree(const Graph& graph, const Options& options);
std::expected<Tables, Error> route_with_dor(const Graph& graph, const Options& options);
std::expected<Tables, Error> route_with_torus_2qos(const Graph& graph, const Options& options);
std::expected<Tables, Error> route_with_dragonfly(const Graph& graph, const Options& options);
std::expected<Tables, Error> route_with_dfsssp(const Graph& graph, const Options& options);
std::expected<Tables, Error> route_with_lash(const Graph& graph, const Options& options);
std::expected<Tables, Error> route_with_nue(const Graph& graph, const Options& options);

}  // namespace softib::routing
