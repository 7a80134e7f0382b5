// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>

#include "core/topo/builder.h"
#include "core/topo/generators.h"
#include "core/topo/spec.h"
#include "core/topo/topology.h"

namespace softib::topo {

namespace {

std::expected<Fabric, Error> generate_single_switch(const Spec& spec) {
    const std::uint32_t hcas = hca_count(spec);
    const std::uint32_t ports_max = spec.radix != 0 ? spec.radix : kSwitchPortsMax;
    if (hcas > ports_max) {
        return refuse(
            fmt::format("{} HCAs do not fit one switch of {} ports: take at most {} "
                        "hosts, or shape fat-tree",
                        hcas, ports_max, ports_max / spec.hcas_per_host));
    }
    FabricBuilder builder(spec);
    const NodeIndex sw = builder.add_switch("sw0", spec.radix != 0 ? spec.radix : hcas, 0);
    builder.cable_hcas({&sw, 1}, Placement(spec, 1, ports_max));
    return builder.take();
}

}  // namespace

const Topology kSingleSwitchTopology{.shape = Shape::kSingleSwitch,
                                     .name = "single-switch",
                                     .keys = 0,
                                     .layout = Layout::kTree,
                                     .generate = generate_single_switch};

}  // namespace softib::topo
