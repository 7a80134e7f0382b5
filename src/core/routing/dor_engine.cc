// SPDX-License-Identifier: BSD-2-Clause
// Dimension order routing for tori and meshes: a packet first reaches its coordinate in the first
// dimension, then in the second, and so on. Going from one dimension to the next closes no cycle;
// going round a ring does. So each ring has a dateline, between its last switch and its first, and
// packets that cross it use another virtual lane in this ring. The service level says which
// datelines a path crosses, one bit per dimension, and the lane follows from it and the dimension
// of the out port. A path and the one back cross the same datelines.
//
// A ring with one break is a line, and packets go the other way round. Pairs that cannot reach each
// other in this way take detours.
//
// torus-2QoS is the same for tori of up to three rings, with two levels of quality of service: the
// highest bit of the service level is the traffic's own, and each of its two values has half of the
// lanes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "core/routing/detours.h"
#include "core/routing/engine.h"
#include "core/routing/torus.h"

namespace softib::routing {

namespace {

// In rings of up to three switches no packet takes two hops, so they have no cycle to break.
constexpr std::uint32_t kShortRing = 3;
constexpr std::size_t kDatelinesMax = 4;  // One bit each of the 16 service levels.
constexpr std::size_t kDatelinesOfTwoLevels = 3;

std::vector<std::uint32_t> sorted_sizes(const std::vector<std::uint32_t>& sizes) {
    std::vector<std::uint32_t> result;
    for (const std::uint32_t size : sizes) {
        if (size == 4) {
            result.insert(result.end(), {2, 2});  // find_torus() finds a ring of four like this.
        } else if (size > 1) {
            result.push_back(size);
        }
    }
    std::ranges::sort(result);
    return result;
}

/// How the service levels and lanes are shared: each level of quality of service has as many.
struct Levels {
    std::uint8_t count = 1;
    std::uint8_t vls = 1;  ///< Lanes of each level.

    std::uint8_t sls() const { return static_cast<std::uint8_t>(kSlCount / count); }
};

class DorRouter {
  public:
    DorRouter(const Graph& graph, const Neighbours& neighbours, const Torus& torus)
        : graph_(graph), neighbours_(neighbours), torus_(torus) {
        for (const Torus::Dimension& dimension : torus.dimensions) {
            const bool dateline = dimension.ring && dimension.size > kShortRing;
            bit_.push_back(dateline ? static_cast<std::uint8_t>(datelines_++) : kNoBit);
        }
        find_breaks();
    }

    std::size_t datelines() const { return datelines_; }

    void fill(Tables& tables) const {
        tables.sls = datelines_ == 0 ? SlMap() : SlMap::by_pair(graph_.switch_count());
        tables.vls = datelines_ == 0 ? 1 : 2;
        for (std::uint32_t to = 0; to < graph_.switch_count(); ++to) {
            fill_local(graph_, to, tables.lfts);
            for (std::uint32_t from = 0; from < graph_.switch_count(); ++from) {
                if (from != to && has_place(from) && has_place(to)) {
                    fill_pair(from, to, tables);
                }
            }
        }
    }

    /// Returns the service levels for detours to try. Those after the ones of the datelines have a
    /// VL of their own each.
    std::vector<std::uint8_t> sls(const Levels& levels) const {
        const std::size_t count =
            datelines_ == 0 ? levels.vls : (std::size_t{1} << datelines_) + levels.vls - 2;
        std::vector<std::uint8_t> result(std::min<std::size_t>(count, levels.sls()));
        std::iota(result.begin(), result.end(), std::uint8_t{0});
        return result;
    }

    SlToVl lanes(const Levels& levels) const {
        if (datelines_ == 0 && levels.count == 1) {
            return {};  // VL = SL.
        }
        SlToVl map(graph_.switch_count(), 1, static_cast<std::uint8_t>(datelines_ + 1));
        for (std::uint8_t out_class = 0; out_class <= datelines_; ++out_class) {
            SlToVl::Row row{};
            for (std::size_t sl = 0; sl < row.size(); ++sl) {
                row[sl] = static_cast<std::uint8_t>(sl / levels.sls() * levels.vls);
            }
            for (const std::uint8_t sl : sls(levels)) {
                for (unsigned level = 0; level < levels.count; ++level) {
                    row[level * levels.sls() + sl] =
                        static_cast<std::uint8_t>(level * levels.vls + lane(sl, out_class));
                }
            }
            map.set_row(0, out_class, row);
        }
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            for (const Link& link : graph_.links(sw)) {
                const std::uint8_t bit = bit_[dimension_between(sw, link.peer)];
                map.set_out_class(sw, link.port,
                                  bit == kNoBit ? 0 : static_cast<std::uint8_t>(bit + 1));
            }
        }
        return map;
    }

  private:
    static constexpr std::uint8_t kNoBit = 0xFF;

    /// Returns the VL that a service level has on the links of a class: 0, or one more than the bit
    /// of their dateline.
    unsigned lane(std::uint8_t sl, std::uint8_t out_class) const {
        if (datelines_ == 0) {
            return sl;
        }
        if (sl >> datelines_ != 0) {
            return sl - (1U << datelines_) + 2;
        }
        return out_class == 0 ? 0 : sl >> (out_class - 1) & 1U;
    }

    bool has_place(std::uint32_t sw) const { return graph_.degree(sw) != 0; }

    std::size_t dimension_between(std::uint32_t a, std::uint32_t b) const {
        for (std::size_t d = 0; d < torus_.dimensions.size(); ++d) {
            if (torus_.dimensions[d].at[a] != torus_.dimensions[d].at[b]) {
                return d;
            }
        }
        return 0;
    }

    bool joined(std::uint32_t a, std::uint32_t b) const {
        return b != kNone && std::ranges::any_of(neighbours_.of(a),
                                                 [&](const auto& next) { return next.peer == b; });
    }

    /// Returns the first coordinate after which the ring through a switch is broken; kNone if it is
    /// whole.
    std::uint32_t& break_of(std::size_t dimension, std::uint32_t sw) {
        return breaks_[dimension][torus_.index(sw) - position(dimension, sw)];
    }
    std::uint32_t break_of(std::size_t dimension, std::uint32_t sw) const {
        return breaks_[dimension][torus_.index(sw) - position(dimension, sw)];
    }
    /// Returns the part of a switch's index that comes from its coordinate in a dimension. Without
    /// this part all switches of a ring have the same index.
    std::uint32_t position(std::size_t dimension, std::uint32_t sw) const {
        std::uint32_t stride = 1;
        for (std::size_t d = dimension + 1; d < torus_.dimensions.size(); ++d) {
            stride *= torus_.dimensions[d].size;
        }
        return torus_.dimensions[dimension].at[sw] * stride;
    }

    void find_breaks() {
        breaks_.assign(torus_.dimensions.size(),
                       std::vector<std::uint32_t>(torus_.switch_at.size(), kNone));
        for (std::size_t d = 0; d < torus_.dimensions.size(); ++d) {
            const Torus::Dimension& dimension = torus_.dimensions[d];
            for (std::uint32_t sw = 0; sw < graph_.switch_count() && dimension.ring; ++sw) {
                if (has_place(sw) && !joined(sw, torus_.step(sw, d, true))) {
                    std::uint32_t& place = break_of(d, sw);
                    place = std::min(place, dimension.at[sw]);
                }
            }
        }
    }

    /// Returns whether to go forward from a switch to a coordinate in its ring or line.
    bool forward(std::size_t d, std::uint32_t sw, std::uint32_t to) const {
        const Torus::Dimension& dimension = torus_.dimensions[d];
        const std::uint32_t size = dimension.size;
        const std::uint32_t from = dimension.at[sw];
        if (!dimension.ring) {
            return from < to;
        }
        if (const std::uint32_t gap = break_of(d, sw); gap != kNone) {
            // A broken ring is a line that begins after the break.
            const auto along = [&](std::uint32_t at) { return (at + size - gap - 1) % size; };
            return along(from) < along(to);
        }
        const std::uint32_t ahead = (to + size - from) % size;
        if (2 * ahead != size) {
            return 2 * ahead < size;
        }
        // Both ways are equally long. The choice alternates with the coordinate, and is the same
        // from both ends.
        const bool across = std::min(from, to) % 2 != 0;
        return (from < to) != across;
    }

    void fill_pair(std::uint32_t from, std::uint32_t to, Tables& tables) const {
        std::uint32_t at = from;
        std::uint8_t sl = 0;
        std::uint32_t first = kNone;
        for (std::size_t d = 0; d < torus_.dimensions.size(); ++d) {
            const Torus::Dimension& dimension = torus_.dimensions[d];
            while (dimension.at[at] != dimension.at[to]) {
                const bool ahead = forward(d, at, dimension.at[to]);
                const std::uint32_t next = torus_.step(at, d, ahead);
                if (!joined(at, next)) {
                    return;
                }
                const bool crosses = dimension.at[next] > dimension.at[at] ? !ahead : ahead;
                if (crosses && bit_[d] != kNoBit) {
                    sl = static_cast<std::uint8_t>(sl | 1U << bit_[d]);
                }
                first = first == kNone ? next : first;
                at = next;
            }
        }
        if (datelines_ != 0) {
            tables.sls.set(from, to, sl, graph_.switch_count());
        }
        const auto next = std::ranges::find_if(
            neighbours_.of(from), [&](const auto& neighbour) { return neighbour.peer == first; });
        const auto cables = neighbours_.links(*next);
        std::size_t turn = 0;
        for (const Lid lid : graph_.lids(to)) {
            tables.lfts.at(from, lid) = graph_.links()[cables[turn++ % cables.size()]].port;
        }
    }

    const Graph& graph_;
    const Neighbours& neighbours_;
    const Torus& torus_;
    std::vector<std::uint8_t> bit_;  ///< By dimension: its bit in the service level, or kNoBit.
    std::size_t datelines_ = 0;
    std::vector<std::vector<std::uint32_t>> breaks_;  ///< By dimension and ring: see break_of().
};

std::expected<Torus, Error> find_wanted_torus(const Graph& graph, const Neighbours& neighbours,
                                              const Options& options) {
    auto torus = find_torus(graph, neighbours);
    if (!torus) {
        return std::unexpected(Error{"the cables form no torus or mesh: use engine nue"});
    }
    std::vector<std::uint32_t> sizes;
    for (const Torus::Dimension& dimension : torus->dimensions) {
        sizes.push_back(dimension.size);
    }
    if (!options.torus_dimensions.empty() &&
        sorted_sizes(sizes) != sorted_sizes(options.torus_dimensions)) {
        return std::unexpected(
            Error{fmt::format("the cables make a torus of {} (4 is seen as 2x2), not of {}: "
                              "correct the cables or the dimensions, or take engine nue",
                              fmt::join(sizes, "x"), fmt::join(options.torus_dimensions, "x"))});
    }
    return *std::move(torus);
}

/// Routes by dimension order. `engine` has the name for tables and errors.
std::expected<Tables, Error> route(const Graph& graph, const Options& options, const char* engine,
                                   const Levels& levels, std::size_t datelines_max) {
    const Neighbours neighbours(graph);
    const auto torus = find_wanted_torus(graph, neighbours, options);
    if (!torus) {
        return std::unexpected(torus.error());
    }
    const DorRouter router(graph, neighbours, *torus);
    if (router.datelines() > datelines_max) {
        return std::unexpected(Error{fmt::format(
            "{} rings of 5 or more need as many bits of the service level, and {} has {}: take "
            "engine nue instead of {}",
            router.datelines(), engine, datelines_max, engine)});
    }
    if (router.datelines() != 0 && levels.vls < 2) {
        return std::unexpected(Error{fmt::format(
            "rings need {} virtual lanes and there {}: switch QoS on, or take engine nue or updn "
            "instead of {}",
            levels.count == 1 ? "two" : "four", options.usable_vls() == 1 ? "is one" : "are fewer",
            engine)});
    }
    Tables tables{.engine = engine, .lfts = Lfts(graph.switch_count(), graph.lid_max())};
    router.fill(tables);
    tables.sl_to_vl = router.lanes(levels);
    if (!fill_holes(graph, erase_dead_ends(graph, tables), router.sls(levels), tables).empty()) {
        return std::unexpected(Error{fmt::format(
            "too much of this torus is missing for dimension order routing: take engine nue "
            "instead of {}",
            engine)});
    }
    return tables;
}

}  // namespace

std::expected<Tables, Error> route_with_dor(const Graph& graph, const Options& options) {
    return route(graph, options, "dor", {.vls = options.usable_vls()}, kDatelinesMax);
}

std::expected<Tables, Error> route_with_torus_2qos(const Graph& graph, const Options& options) {
    constexpr const char* kName = "torus-2QoS";
    const Levels levels{.count = 2,
                        .vls = std::min<std::uint8_t>(
                            static_cast<std::uint8_t>(options.usable_vls() / 2), kSlCount / 2)};
    if (levels.vls == 0) {
        return std::unexpected(Error{
            "torus-2QoS gives each of its two levels lanes of its own, and there is one lane: "
            "switch QoS on, or take engine nue or updn instead"});
    }
    auto tables = route(graph, options, kName, levels, kDatelinesOfTwoLevels);
    if (tables) {
        tables->vls = static_cast<std::uint8_t>(2 * levels.vls);
        tables->free_sl_bits = kSlCount / 2;
    }
    return tables;
}

}  // namespace softib::routing
