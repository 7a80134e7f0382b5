// SPDX-License-Identifier: BSD-2-Clause
// Planes: several fabrics of one description that share nothing but their hosts. Each HCA of the
// description is one HCA in each plane, as the ports of an adapter are.
#include <fmt/format.h>

#include <utility>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/spec.h"

namespace softib::topo {

namespace {

constexpr std::uint32_t kHcasPerHostMax = 64;

std::expected<void, Error> check_planes(const Spec& spec) {
    if (spec.subnets > 1) {
        return refuse("a plane is one subnet: leave out subnets, or planes");
    }
    if (std::uint64_t{spec.hcas_per_host} * spec.planes > kHcasPerHostMax) {
        return refuse(fmt::format(
            "{} HCAs in {} planes are {} HCAs of a host, which has {} at most: take fewer planes",
            spec.hcas_per_host, spec.planes, std::uint64_t{spec.hcas_per_host} * spec.planes,
            kHcasPerHostMax));
    }
    if (spec.device_pattern.find("{}") == std::string::npos) {
        return refuse(
            fmt::format("device_pattern '{}' gives the HCAs of {} planes the same name: put {{}} "
                        "where the number goes, as in 'mlx5_{{}}'",
                        spec.device_pattern, spec.planes));
    }
    return {};
}

/// Adds one plane, which is number `number`, to the fabric of all.
void add_plane(Fabric& all, Fabric plane, std::uint32_t number, const Spec& spec) {
    const auto first = static_cast<std::uint32_t>(all.nodes.size());
    // Planes have their GUIDs one behind the other, by kind. The lowest 8 bits are for ibsim.
    constexpr unsigned kIndexShift = 8;
    const std::uint64_t switches = plane.count(NodeKind::kSwitch);
    const std::uint64_t hcas = plane.nodes.size() - switches;
    for (Node& node : plane.nodes) {
        const Guid image = node.node_guid;
        const std::uint64_t each = node.kind == NodeKind::kSwitch ? switches : hcas;
        node.node_guid = Guid{image.value + (number * each << kIndexShift)};
        // The HCAs of all planes are one adapter.
        node.system_image_guid = node.kind == NodeKind::kSwitch ? node.node_guid : image;
        for (PortLink& link : node.ports) {
            link.peer = link.peer == kNoNode ? kNoNode : NodeIndex{link.peer.value + first};
        }
        if (node.kind == NodeKind::kSwitch) {
            node.name = fmt::format("plane{}-{}", number, node.name);
        }
        all.nodes.push_back(std::move(node));
    }
    for (std::size_t h = 0; h < all.hosts.size(); ++h) {
        Host& host = all.hosts[h];
        for (std::uint32_t j = 0; j < spec.hcas_per_host; ++j) {
            const std::uint32_t index = j * spec.planes + number;
            const NodeIndex own = plane.hosts[h].hcas[j];
            host.hcas[index] = NodeIndex{first + own.value};
            host.device_names[index] = fill_pattern(spec.device_pattern, index);
            Node& node = all.nodes[first + own.value];
            node.name = host.name + "/" + host.device_names[index];
        }
    }
}

}  // namespace

std::expected<Fabric, Error> generate_planes(const Spec& spec) {
    if (auto checked = check_planes(spec); !checked) {
        return std::unexpected(checked.error());
    }
    Spec one = spec;
    one.planes = 1;
    const auto plane = generate(one);
    if (!plane) {
        return std::unexpected(
            Error{fmt::format("in each of {} planes: {}", spec.planes, plane.error().message)});
    }
    Spec together = spec;
    together.hcas_per_host *= spec.planes;
    const std::uint64_t switches = plane->count(NodeKind::kSwitch);
    if (auto checked = check_lids(together, switches * spec.planes); !checked) {
        return std::unexpected(checked.error());
    }
    Fabric all;
    all.name = plane->name;
    all.shape = plane->shape;
    all.hosts = plane->hosts;
    for (Host& host : all.hosts) {
        host.hcas.resize(together.hcas_per_host);
        host.device_names.resize(together.hcas_per_host);
    }
    for (std::uint32_t number = 0; number < spec.planes; ++number) {
        add_plane(all, *plane, number, spec);
    }
    const Host& host = all.hosts.front();
    all.warnings.push_back(
        fmt::format("the {} planes are fabrics that no cable joins, and a subnet manager sees only "
                    "the one that it is in; while it is up, give each other plane its own, as "
                    "with: softib exec {} -- softib-sm -C {}",
                    spec.planes, host.name, host.device_names[1]));
    return all;
}

}  // namespace softib::topo
