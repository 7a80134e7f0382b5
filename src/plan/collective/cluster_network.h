// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The fabric of a cluster as a model of the network that carries messages. Its end ports are the
// cluster's NICs, node by node.

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "net/model.h"
#include "net/sim/failures.h"
#include "net/sim/simulation.h"
#include "plan/cluster/cluster.h"

namespace softib::plan {

/// Makes a model of the cluster's fabric, without adaptive routing if its routes leave switches no
/// choice of ports. The error says what does not fit and what to do.
std::expected<std::unique_ptr<net::Model>, std::string> make_network(
    const Cluster& cluster, net::ModelKind kind, const std::vector<net::Failure>& failures);

/// Returns the options of a model of the cluster's fabric.
net::SimulationOptions network_options(const Cluster& cluster, net::ModelKind kind,
                                       const std::vector<net::Failure>& failures);

}  // namespace softib::plan
