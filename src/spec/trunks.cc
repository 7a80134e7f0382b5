// SPDX-License-Identifier: BSD-2-Clause
#include "spec/trunks.h"

#include "core/topo/trunk.h"

namespace softib::spec {

std::expected<topo::Fabric, std::string> with_trunks(topo::Fabric fabric,
                                                     const Description& description) {
    if (description.trunk.empty()) {
        return fabric;
    }
    if (description.data_path != DataPath::kPacket ||
        description.link_layer != hca::LinkLayer::kInfiniBand) {
        return std::unexpected("a trunk carries packets of InfiniBand: add --data-path packet");
    }
    if (description.trunk_key.empty()) {
        return std::unexpected("a trunk needs a key that both ends have: add --trunk-key FILE");
    }
    const auto plans = parse_trunks(description.trunk);
    if (!plans) {
        return std::unexpected(plans.error());
    }
    for (const TrunkPlan& plan : *plans) {
        if (auto added = topo::add_trunk(fabric, plan.at_switch); !added) {
            return std::unexpected(added.error().message);
        }
    }
    return fabric;
}

}  // namespace softib::spec
