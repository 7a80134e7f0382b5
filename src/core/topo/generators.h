// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One function per shape, behind `generate`, which has checked what all shapes have in common.

#include <cstdint>
#include <expected>
#include <string>
#include <utility>

#include "core/topo/fabric.h"

namespace softib::topo {

std::expected<Fabric, Error> generate_single_switch(const Spec& spec);
std::expected<Fabric, Error> generate_fat_tree(const Spec& spec);  ///< And what is one.
std::expected<Fabric, Error> generate_rail_only(const Spec& spec);
std::expected<Fabric, Error> generate_torus(const Spec& spec);
std::expected<Fabric, Error> generate_dragonfly(const Spec& spec);
std::expected<Fabric, Error> generate_dragonfly_plus(const Spec& spec);
std::expected<Fabric, Error> generate_hyperx(const Spec& spec);
std::expected<Fabric, Error> generate_subnets(const Spec& spec);  ///< Several of any shape.

/// Every HCA and every switch takes one unicast LID: refuses what has no address left.
std::expected<void, Error> check_lids(const Spec& spec, std::uint64_t switches);

/// A host with one HCA has no rails.
std::expected<void, Error> check_rails(const Spec& spec);

inline std::unexpected<Error> refuse(std::string message) {
    return std::unexpected(Error{std::move(message)});
}

}  // namespace softib::topo
