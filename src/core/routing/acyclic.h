// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A channel dependency graph (dependencies.h) that never has a cycle: it refuses a dependency that
// would close one. It keeps the channels in a topological order and repairs the order locally when
// a new dependency goes against it (Pearce and Kelly, 2006), so that most additions cost next to
// nothing.

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/routing/dependencies.h"
#include "core/routing/graph.h"

namespace softib::routing {

class AcyclicDependencies {
  public:
    /// With `vls` > 1, packets may change lanes from link to link.
    AcyclicDependencies(const Graph& graph, std::uint8_t vls);

    std::uint32_t channel(std::uint32_t link, std::uint8_t vl) const { return link * vls_ + vl; }

    /// Adds the dependency of `from` on `to`, which leaves the switch that `from` leads to. Returns
    /// false, with nothing changed, if it would close a cycle.
    bool add(std::uint32_t from, std::uint32_t to);
    bool has(std::uint32_t from, std::uint32_t to) const;
    void remove(std::uint32_t from, std::uint32_t to);
    /// Does the same as add(), but remembers refused dependencies, so that refusing them again is
    /// fast. Only for callers that never remove a dependency.
    bool add_for_good(std::uint32_t from, std::uint32_t to);
    /// Adds all of `dependencies`, which must have no cycle. Their VL `first_vl` becomes VL 0 here,
    /// and so on.
    void load(const Dependencies& dependencies, std::uint8_t first_vl);

  private:
    struct Bit {
        std::size_t word;
        std::uint64_t mask;
    };

    std::uint32_t link_of(std::uint32_t channel) const { return channel / vls_; }
    std::uint32_t head(std::uint32_t channel) const { return graph_.links()[channel / vls_].peer; }
    /// Returns the place of a channel among those into the switch at its end.
    std::size_t in_place(std::uint32_t channel) const;
    /// Returns the place of a channel among those out of the switch at its start.
    std::size_t out_place(std::uint32_t channel) const;
    std::size_t row(std::uint32_t sw, std::size_t place) const {
        return base_[sw] + place * row_words_[sw];
    }
    Bit next_bit(std::uint32_t from, std::uint32_t to) const;
    Bit previous_bit(std::uint32_t from, std::uint32_t to) const;
    void set(std::uint32_t from, std::uint32_t to);
    void for_each_next(std::uint32_t channel, auto visit) const;
    void for_each_previous(std::uint32_t channel, auto visit) const;
    /// Collects in forward_ the channels that `start` leads to and that are before `target` in the
    /// order. Returns false if `start` leads to `target` itself, which would close a cycle.
    bool search_forward(std::uint32_t start, std::uint32_t target);
    /// Collects in backward_ the channels that lead to `start` and are after place `lowest`.
    void search_backward(std::uint32_t start, std::uint32_t lowest);
    void reorder();

    const Graph& graph_;
    std::uint32_t vls_;
    std::vector<std::uint32_t> tail_;      ///< By link: switch that it leaves.
    std::vector<std::size_t> base_;        ///< By switch: first word of its bit matrix.
    std::vector<std::size_t> row_words_;   ///< By switch: words of a row of its bit matrix.
    std::vector<std::uint64_t> next_;      ///< Dependencies: rows by in, bits by out channel.
    std::vector<std::uint64_t> previous_;  ///< Dependencies: rows by out, bits by in channel.
    std::vector<std::uint64_t> refused_;   ///< Refused dependencies, arranged like next_.
    std::vector<std::uint32_t> place_;     ///< By channel: its place in the order.
    std::vector<bool> seen_;
    std::vector<std::uint32_t> forward_;
    std::vector<std::uint32_t> backward_;
    std::vector<std::uint32_t> free_places_;
};

}  // namespace softib::routing
