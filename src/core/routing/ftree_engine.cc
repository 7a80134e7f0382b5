// SPDX-License-Identifier: BSD-2-Clause
// Fat trees. A destination's number says which column (columns.h) it takes at each level (D-mod-K).
// The column is the same from every source, so that on a full tree a shift permutation puts one
// flow on each link.
//
// On a damaged tree the destinations whose column is cut off take spare columns. Every spare puts a
// second flow on a link, and a third must be avoided. In a shift permutation the hosts of one
// switch send to consecutive numbers, and consecutive hosts send to one switch. So a switch should
// not give the same spare column to two numbers whose distance is less than the number of its
// hosts, nor a column that the switch before it chose for earlier hosts of the same destination.
// Within these rules the choice changes with the distance between source and destination, so that
// all links get their share of the whole traffic.
#include <algorithm>
#include <climits>
#include <tuple>

#include "core/routing/columns.h"
#include "core/routing/engine.h"
#include "core/routing/numbering.h"
#include "core/routing/tree.h"
#include "core/routing/tree_fill.h"
#include "core/routing/up_down.h"

namespace softib::routing {

namespace {

constexpr std::uint8_t kNoColumn = 0xFF;

/// A set of next hops as ports by column.
struct ColumnPorts {
    PortCycle ports;  ///< By column: the port, 0 if there is none. Further rows: further cables.
    std::vector<std::uint32_t> cables;  ///< By column: number of cables, which is that of its rows.
    std::uint32_t width = 0;
    bool gaps = false;  ///< Whether some column has fewer cables than another.
    Descent descent;    ///< Used instead if several neighbours lead down.

    /// Returns the first column from this one on that has a port.
    std::uint32_t next(std::uint32_t column) const {
        while (ports[column] == 0) {
            column = column + 1 == width ? 0 : column + 1;
        }
        return column;
    }
};

/// Gives spare columns to quotients (numbers after division), for one switch after the other.
class SpareChoice {
  public:
    explicit SpareChoice(std::uint32_t quotients) : chosen_(quotients, kNoColumn) {}

    /// Begins with the next switch, through which `window` hosts (as quotients) send.
    void start(std::uint32_t width, std::uint32_t window) {
        before_.swap(chosen_);
        chosen_.assign(before_.size(), kNoColumn);
        last_use_.assign(width, kNone);
        window_ = window;
        block_first_ = kNone;
    }

    /// Chooses a spare column for a quotient. Quotients of one block of destinations must come in
    /// ascending order; `block_first` is the lowest of the block.
    std::uint32_t take(std::uint32_t quotient, std::uint32_t block_first, std::uint32_t offset,
                       const ColumnPorts& columns) {
        if (block_first != block_first_) {
            block_first_ = next_ = block_first;
            taken_before_.assign(columns.width, false);
        }
        for (; next_ < quotient; ++next_) {
            if (before_[next_] != kNoColumn) {
                taken_before_[before_[next_]] = true;
            }
        }
        const std::uint32_t best = find(quotient, offset, columns);
        last_use_[best] = quotient;
        chosen_[quotient] = static_cast<std::uint8_t>(best);
        return best;
    }

  private:
    /// Returns the first column that breaks no rule, else the one that breaks the least.
    std::uint32_t find(std::uint32_t quotient, std::uint32_t offset,
                       const ColumnPorts& columns) const {
        std::uint32_t best = kNone;
        int best_faults = INT_MAX;
        for (std::uint32_t step = 0; step < columns.width && best_faults != 0; ++step) {
            const std::uint32_t column = (quotient + offset + step) % columns.width;
            if (columns.ports[column] == 0) {
                continue;
            }
            const bool again = last_use_[column] != kNone && quotient - last_use_[column] < window_;
            const int faults = (again ? 2 : 0) + (taken_before_[column] ? 1 : 0);
            if (faults < best_faults) {
                best = column;
                best_faults = faults;
            }
        }
        return best;
    }

    std::vector<std::uint8_t> before_;     ///< By quotient: column that the last switch chose.
    std::vector<std::uint8_t> chosen_;     ///< By quotient: column that this switch chose.
    std::vector<std::uint32_t> last_use_;  ///< By column: last quotient that got it.
    std::vector<bool> taken_before_;       ///< By column: whether before_ has it in this block.
    std::uint32_t window_ = 1;
    std::uint32_t block_first_ = kNone;
    std::uint32_t next_ = 0;
};

class TreeRouter {
  public:
    TreeRouter(const Graph& graph, const TreeLevels& levels)
        : graph_(graph),
          levels_(levels),
          neighbours_(graph),
          columns_(find_columns(neighbours_, levels)),
          subtrees_(find_subtrees(neighbours_, levels)),
          order_(order_by_subtrees(graph, subtrees_)),
          numbering_(graph, order_),
          sets_(up_down_hops(graph, neighbours_, places_by_level(levels))) {
        for (const auto& subtree : subtrees_) {
            first_.emplace_back(graph.switch_count(), kNone);
            hosts_.emplace_back(graph.switch_count(), 0);
            for (std::uint32_t sw = 0; sw < graph.switch_count(); ++sw) {
                std::uint32_t& first = first_.back()[subtree[sw]];
                if (graph.host_count(sw) != 0) {
                    first = std::min(first, numbering_.first(sw));
                }
                hosts_.back()[subtree[sw]] += graph.host_count(sw);
            }
        }
        find_climbs();
    }

    void fill(Lfts& lfts) {
        // Switches of one column follow each other, in the order of their hosts.
        std::vector<std::uint32_t> sequence = order_;
        const auto column = [&](std::uint32_t sw) {
            return std::tuple(levels_.level[sw], columns_.of[sw]);
        };
        std::ranges::stable_sort(sequence, {}, column);
        for (std::size_t i = 0; i < sequence.size(); ++i) {
            const std::uint32_t sw = sequence[i];
            if (i == 0 || column(sw) != column(sequence[i - 1])) {
                spares_ =
                    SpareChoice(graph_.host_count() / columns_.divider[levels_.level[sw]] + 1);
            }
            fill_local(graph_, sw, lfts);
            fill_switch(sw, lfts.row(sw));
        }
    }

    std::vector<Hole> fill_holes(std::span<const std::uint8_t> sls, Tables& tables) const {
        return fill_tree_holes(graph_, neighbours_, levels_, find_holes(graph_, sets_), sls,
                               tables);
    }
    PortGroups groups() const { return sets_.port_groups(graph_, neighbours_); }

  private:
    bool leads_up(std::uint32_t sw, std::span<const std::uint8_t> positions) const {
        return levels_.level[neighbours_.of(sw)[positions[0]].peer] == levels_.level[sw] + 1;
    }

    ColumnPorts by_column(std::uint32_t sw, std::span<const std::uint8_t> positions) const {
        ColumnPorts result;
        result.width = columns_.count[levels_.level[sw]];
        std::uint32_t cables = 0;
        for (const std::uint8_t position : positions) {
            cables = std::max(cables, neighbours_.of(sw)[position].count);
        }
        result.ports.assign(std::size_t{result.width} * cables, 0);
        result.cables.assign(result.width, 0);
        for (const std::uint8_t position : positions) {
            const Neighbours::Neighbour& next = neighbours_.of(sw)[position];
            const std::uint32_t column = columns_.of[next.peer];
            for (const std::uint32_t link : neighbours_.links(next)) {
                result.ports[result.cables[column]++ * result.width + column] =
                    graph_.links()[link].port;
            }
        }
        result.gaps =
            std::ranges::any_of(result.cables, [&](std::uint32_t own) { return own < cables; });
        return result;
    }

    void fill_switch(std::uint32_t sw, std::span<std::uint8_t> row) {
        std::vector<ColumnPorts> sets(sets_.count(sw));
        for (std::uint32_t set = 1; set < sets.size(); ++set) {
            const auto positions = sets_.positions(sw, static_cast<std::uint16_t>(set));
            if (leads_up(sw, positions)) {
                sets[set] = by_column(sw, positions);
            } else if (positions.size() > 1) {
                sets[set].descent = find_descent(graph_, neighbours_, sw, positions);
            } else {
                sets[set].ports = take_turns(graph_, neighbours_, sw, positions);
            }
        }
        const std::uint32_t level = levels_.level[sw];
        const std::uint32_t divider = columns_.divider[level];
        const std::uint32_t own = subtrees_[level][sw];
        spares_.start(columns_.count[level], std::max(1U, hosts_[level][own] / divider));
        for (const std::uint32_t to : order_) {
            const std::uint16_t set = sets_.of(sw, to);
            if (set == 0) {
                continue;
            }
            if (sets[set].gaps) {
                fill_with_spares(sw, to, sets[set], row);
            } else if (!sets[set].descent.peers.empty()) {
                fill_descent(sets[set].descent, climbs_[level - 1], divider, numbering_.hosts(to),
                             numbering_.first(to), row);
                fill_descent(sets[set].descent, {}, divider, numbering_.own(to),
                             numbering_.own_first(to), row);
            } else {
                fill_in_turn(sets[set].ports, divider, numbering_.hosts(to), numbering_.first(to),
                             row);
                fill_in_turn(sets[set].ports, divider, numbering_.own(to), numbering_.own_first(to),
                             row);
            }
        }
    }

    void fill_with_spares(std::uint32_t sw, std::uint32_t to, const ColumnPorts& columns,
                          std::span<std::uint8_t> row) {
        const std::uint32_t level = levels_.level[sw];
        const std::uint32_t divider = columns_.divider[level];
        const std::uint32_t block_first = first_[level][subtrees_[level][to]] / divider;
        const std::uint32_t offset = offset_between(first_[level][subtrees_[level][sw]] / divider,
                                                    block_first, columns.width);
        std::uint32_t number = numbering_.first(to);
        std::uint32_t last = kNone;
        std::uint32_t column = 0;
        for (const Numbering::Entry& entry : numbering_.hosts(to)) {
            const std::uint32_t quotient = number++ / divider;
            if (quotient != last) {
                last = quotient;
                column = quotient % columns.width;
                if (columns.ports[column] == 0) {
                    column = spares_.take(quotient, block_first, offset, columns);
                }
            }
            fill_entry(entry, columns, quotient, column, row);
        }
        number = numbering_.own_first(to);
        for (const Numbering::Entry& entry : numbering_.own(to)) {
            const std::uint32_t quotient = number++ / divider;
            fill_entry(entry, columns, quotient, columns.next(quotient % columns.width), row);
        }
    }

    /// Fills climbs_: at each level a host's number climbs by the column that the number gives.
    void find_climbs() {
        climbs_.assign(levels_.top + 1, std::vector<std::uint32_t>(graph_.host_count(), kNone));
        for (std::uint32_t sw = 0; sw < graph_.switch_count(); ++sw) {
            for (std::uint32_t i = 0; i < graph_.host_count(sw); ++i) {
                climbs_[levels_.level[sw]][numbering_.first(sw) + i] = sw;
            }
        }
        for (std::uint32_t level = 0; level < levels_.top; ++level) {
            for (std::uint32_t number = 0; number < graph_.host_count(); ++number) {
                if (const std::uint32_t at = climbs_[level][number]; at != kNone) {
                    const std::uint32_t digit = number / columns_.divider[level];
                    climbs_[level + 1][number] = upper_in_column(at, digit % columns_.count[level]);
                }
            }
        }
    }

    std::uint32_t upper_in_column(std::uint32_t sw, std::uint32_t column) const {
        for (const Neighbours::Neighbour& next : neighbours_.of(sw)) {
            if (levels_.level[next.peer] == levels_.level[sw] + 1 &&
                columns_.of[next.peer] == column) {
                return next.peer;
            }
        }
        return kNone;
    }

    /// Returns the offset of the spare column to try first, 1 to width - 1 (0 if there is no
    /// spare). It depends on the distance between source and destination only, so that it is the
    /// same for all switches in one shift, and every column has its turn.
    static std::uint32_t offset_between(std::uint32_t here, std::uint32_t there,
                                        std::uint32_t width) {
        if (width < 2) {
            return 0;
        }
        const std::uint32_t turns = width - 1;
        return (here / width % turns + turns - there / width % turns) % turns + 1;
    }

    static void fill_entry(const Numbering::Entry& entry, const ColumnPorts& columns,
                           std::uint32_t quotient, std::uint32_t column,
                           std::span<std::uint8_t> row) {
        for (std::uint32_t i = 0; i < entry.lids; ++i) {
            const std::uint32_t cable = quotient / columns.width % columns.cables[column];
            row[entry.lid + i] = columns.ports[cable * columns.width + column];
            column = columns.next((column + 1) % columns.width);
        }
    }

    const Graph& graph_;
    const TreeLevels& levels_;
    Neighbours neighbours_;
    Columns columns_;
    std::vector<std::vector<std::uint32_t>> subtrees_;
    std::vector<std::uint32_t> order_;
    Numbering numbering_;
    HopSets sets_;
    std::vector<std::vector<std::uint32_t>> first_;  ///< By level and subtree: lowest number.
    std::vector<std::vector<std::uint32_t>> hosts_;  ///< By level and subtree: number of hosts.
    Climbs climbs_;
    SpareChoice spares_{0};
};

}  // namespace

std::expected<Tables, Error> route_with_ftree(const Graph& graph, const Options& options) {
    const auto roots = find_switches(graph, options.roots);
    if (!roots) {
        return std::unexpected(roots.error());
    }
    const auto levels = find_levels(graph, Neighbours(graph), *roots);
    if (!levels) {
        return std::unexpected(
            Error{"this subnet is no fat tree: take engine updn or nue instead of ftree"});
    }
    Tables tables{.engine = "ftree", .lfts = Lfts(graph.switch_count(), graph.lid_max())};
    TreeRouter router(graph, *levels);
    router.fill(tables.lfts);
    const std::vector<Hole> open = router.fill_holes(options.sls(), tables);
    if (std::ranges::any_of(open, [&](const Hole& h) { return between_hosts(graph, h); })) {
        return std::unexpected(
            Error{"too much of this fat tree is missing to route it without credit loops: take "
                  "engine nue instead of ftree"});
    }
    tables.groups = router.groups();
    return tables;
}

}  // namespace softib::routing
