// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "core/topo/graph.h"
#include "net/model.h"
#include "run/cost.h"

namespace softib::run {

/// Is told while a run goes on, and may stop it. Each function may be left as it is.
class Watch {
  public:
    virtual ~Watch() = default;

    /// Is asked before anything is simulated, with what the run would take. An error ends it.
    virtual std::expected<void, std::string> accept(const Cost&) { return {}; }
    /// Returns whether the run shall stop with the results so far. Asked some times a second.
    virtual bool stopped() { return false; }
    /// Is told some times a second which part of a simulation is done, from 0 to 1.
    virtual void show(double /*part*/, net::TimePs /*now*/, std::uint64_t /*events*/) {}

    // A recorder's part; called for runs on one thread.
    /// Called before a simulation's first event. An error ends the run.
    virtual std::expected<void, std::string> begin(const topo::Fabric&, const net::Model&) {
        return {};
    }
    /// Returns the virtual time at which look() must be called next.
    virtual net::TimePs next_look() const { return net::kNever; }
    /// Looks at a model in which everything before `at` has happened.
    virtual void look(const net::Model&, net::TimePs /*at*/) {}
    virtual std::expected<void, std::string> finish(const net::Model&) { return {}; }
};

}  // namespace softib::run
