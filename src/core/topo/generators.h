// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One function for each shape. `generate` calls them after checks that all shapes have in common.

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include "core/topo/fabric.h"

namespace softib::topo {

std::expected<Fabric, Error> generate_single_switch(const Spec& spec);
/// Generates a fat tree, a rail-optimized fabric or a SuperPOD.
std::expected<Fabric, Error> generate_fat_tree(const Spec& spec);
std::expected<Fabric, Error> generate_rail_only(const Spec& spec);
std::expected<Fabric, Error> generate_torus(const Spec& spec);
std::expected<Fabric, Error> generate_dragonfly(const Spec& spec);
std::expected<Fabric, Error> generate_dragonfly_plus(const Spec& spec);
std::expected<Fabric, Error> generate_hyperx(const Spec& spec);
/// Generates several subnets of any one shape, joined by routers.
std::expected<Fabric, Error> generate_subnets(const Spec& spec);

/// Refuses a fabric with more HCAs and switches than there are unicast LIDs.
std::expected<void, Error> check_lids(const Spec& spec, std::uint64_t switches);

/// Refuses a fabric with rails whose hosts have only one HCA.
std::expected<void, Error> check_rails(const Spec& spec);

inline std::unexpected<Error> refuse(std::string message) {
    return std::unexpected(Error{std::move(message)});
}

}  // namespace softib::topo
