// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/fabric.h"

#include <algorithm>

namespace softib::plan {

topo::Spec plane_of(const Cluster& cluster) {
    const ClusterFabric& fabric = cluster.fabric;
    topo::Spec spec = fabric.spec;
    spec.on_paper = fabric.link_layer == LinkLayer::kRoce;
    if (fabric.planes > 1 && spec.radix == 0) {
        spec.radix = std::min(topo::row_of(spec.generation).radix * fabric.planes,
                              radix_max(fabric.link_layer));
    }
    return spec;
}

std::expected<topo::Fabric, topo::Error> counted_plane(const Cluster& cluster) {
    return topo::generate(plane_of(cluster));
}

topo::Spec modelled_plane_of(const Cluster& cluster) {
    topo::Spec spec = plane_of(cluster);
    spec.on_paper = false;
    spec.radix = std::min(spec.radix, radix_max(LinkLayer::kInfiniBand));
    return spec;
}

std::expected<topo::Fabric, topo::Error> modelled_plane(const Cluster& cluster) {
    return topo::generate(modelled_plane_of(cluster));
}

}  // namespace softib::plan
