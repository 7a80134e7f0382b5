// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Permutation traffic on given tables: counts how many flows meet on the busiest link.

#include <cstdint>
#include <span>
#include <vector>

#include "core/base/prng.h"
#include "core/routing/graph.h"
#include "core/routing/route_walk.h"
#include "core/routing/tables.h"
#include "core/routing/verifier.h"

namespace softib::routing {

class Permutations {
  public:
    /// `ranks` are the LIDs of the hosts that take part, in order; if empty, all hosts do, in the
    /// order of the graph.
    Permutations(const Graph& graph, const Tables& tables, const PortMap& ports,
                 std::span<const Lid> ranks = {});

    std::uint32_t host_count() const { return static_cast<std::uint32_t>(hosts_.size()); }
    /// Returns the flows on the busiest link if every host sends to the one `shift` places on.
    std::uint32_t shift(std::uint32_t shift);
    /// Returns the flows on the busiest link of a random permutation.
    std::uint32_t random(Prng& prng);

    Contention shifts(const VerifyOptions& options);
    Contention randoms(const VerifyOptions& options);

  private:
    struct Host {
        std::uint32_t at;
        Lid lid;
    };

    void clear();
    void send(const Host& from, const Host& to);

    const Lfts& lfts_;
    const PortMap& ports_;
    std::vector<Host> hosts_;  ///< The hosts that take part, in order.
    std::vector<std::uint32_t> flows_;
    std::uint32_t busiest_ = 0;
};

}  // namespace softib::routing
