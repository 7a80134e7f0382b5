// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/host_order.h"

#include "core/topo/graph.h"

namespace softib::sm {

std::map<std::uint64_t, std::uint32_t> host_order_of(const topo::Fabric& fabric) {
    std::map<std::uint64_t, std::uint32_t> order;
    for (const topo::NodeIndex hca : topo::hcas_in_order(fabric)) {
        const auto position = static_cast<std::uint32_t>(order.size());
        order.emplace(topo::port_guid(fabric.node(hca), PortNum{1}).value, position);
    }
    return order;
}

}  // namespace softib::sm
