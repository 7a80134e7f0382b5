// SPDX-License-Identifier: BSD-2-Clause
// Makes the fabric that a description asks for.
#include <fmt/format.h>

#include "core/topo/netlist.h"
#include "core/topo/spec.h"
#include "core/topo/trunk.h"
#include "spec/key_rule.h"
#include "spec/trunks.h"

namespace softib::spec {

namespace {

/// Returns a key with its origin: "--hosts", or "lab.toml:3:1: 'hosts'".
std::string key_at(const std::string& key, const std::string& origin) {
    return origin.starts_with("--") ? origin : fmt::format("{}: '{}'", origin, key);
}

std::expected<topo::Fabric, std::string> read_fabric(const Description& description) {
    for (const auto& [key, origin] : description.origins) {
        const KeyRule* const rule = find_rule(key);
        if (rule != nullptr && rule->about == About::kShape) {
            return std::unexpected(
                fmt::format("{} is for a fabric that is generated, but {} has one already: leave "
                            "out one of the two",
                            key_at(key, origin), description.from));
        }
    }
    auto fabric = topo::read_netlist(description.netlist, description.from);
    if (!fabric) {
        return std::unexpected(fabric.error().message);
    }
    fabric->name = description.spec.name;
    return std::move(*fabric);
}

/// Returns an error about one key that begins with the place where it was given.
std::unexpected<std::string> blame(const Description& description, std::string_view key,
                                   std::string_view message) {
    const auto origin = description.origins.find(key);
    return std::unexpected(origin == description.origins.end()
                               ? std::string(message)
                               : fmt::format("{}: {}", origin->second, message));
}

/// Refuses keys that exclude each other.
Result check_together(const Description& description) {
    if (!description.partitions.empty() && description.manager != "softib") {
        return blame(description, "partitions",
                     fmt::format("partitions need --sm softib, not --sm {}", description.manager));
    }
    if (description.link_layer == hca::LinkLayer::kEthernet &&
        (description.manager == "opensm" || !description.partitions.empty())) {
        return blame(description, "link_layer",
                     "there is no subnet manager on Ethernet: leave out --sm opensm and "
                     "--partitions, or --link-layer ethernet");
    }
    return {};
}

/// Returns the generator's error behind the place where the key was given that the error names
/// first.
std::string trace(const Description& description, const std::string& message) {
    std::size_t best = std::string::npos;
    std::string where;
    for (const auto& [key, origin] : description.origins) {
        const std::size_t at = message.find(key);
        if (at < best) {
            best = at;
            where = origin + ": ";
        }
    }
    return where + message;
}

}  // namespace

std::expected<topo::Fabric, std::string> generate(const Description& description) {
    if (const auto checked = check_together(description); !checked) {
        return std::unexpected(checked.error());
    }
    if (!description.from.empty()) {
        auto fabric = read_fabric(description);
        return fabric ? with_trunks(std::move(*fabric), description) : std::move(fabric);
    }
    auto fabric = topo::generate(description.spec);
    if (!fabric) {
        return std::unexpected(trace(description, fabric.error().message));
    }
    topo::set_site(*fabric, description.site);
    return with_trunks(std::move(*fabric), description);
}

}  // namespace softib::spec
