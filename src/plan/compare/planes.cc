// SPDX-License-Identifier: BSD-2-Clause
#include "plan/compare/changes.h"
#include "plan/compare/variants.h"

namespace softib::plan {

Comparison compare_planes(const CompareRequest& request) {
    Comparison result = compare_variants("Planes that share each NIC", "planes",
                                         of_planes(request.cluster), request);
    result.notes.emplace_back(
        "switches of all planes; a cable has the links of all planes side by side, and a port of a "
        "plane costs its part of one with the rate of a NIC");
    return result;
}

}  // namespace softib::plan
