// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What generators have in common. Their rows are in topology.h.

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include "core/topo/graph.h"
#include "core/topo/spec.h"

namespace softib::topo {

/// Generates several subnets of any one shape, joined by routers.
std::expected<Fabric, Error> generate_subnets(const Spec& spec);

/// Generates several fabrics of any one shape for the same hosts, which have their HCAs in each.
std::expected<Fabric, Error> generate_planes(const Spec& spec);

/// Refuses a fabric with more HCAs and switches than there are unicast LIDs.
std::expected<void, Error> check_lids(const Spec& spec, std::uint64_t switches);

/// Refuses a fabric with rails whose hosts have only one HCA.
std::expected<void, Error> check_rails(const Spec& spec);

inline std::unexpected<Error> refuse(std::string message) {
    return std::unexpected(Error{std::move(message)});
}

}  // namespace softib::topo
