// SPDX-License-Identifier: BSD-2-Clause
#include "plan/compare/variants.h"

namespace softib::plan {

Comparison compare_planes(const CompareRequest& request) {
    std::vector<Variant> variants;
    for (const std::uint32_t planes : {1U, 2U, 4U, 8U}) {
        variants.push_back({std::to_string(planes), with_planes(request.cluster, planes)});
        variants.back().cluster.fabric.failed_planes = 0;
    }
    variants.push_back({"8, one failed", variants.back().cluster});
    variants.back().cluster.fabric.failed_planes = 1;
    Comparison result = compare_variants("Planes that share each NIC", "planes", variants, request);
    result.notes.emplace_back(
        "switches of all planes; a cable has the links of all planes side by side, and a port of a "
        "plane costs its part of one with the rate of a NIC");
    return result;
}

}  // namespace softib::plan
