// SPDX-License-Identifier: BSD-2-Clause
#include "plan/cluster/rates.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::plan {

const Rates& rates_of(std::uint32_t compute_capability) {
    const Rates* best = nullptr;
    for (const Rates& each : rates_presets()) {
        if (each.compute_capability <= compute_capability &&
            (best == nullptr || best->compute_capability < each.compute_capability)) {
            best = &each;
        }
    }
    SOFTIB_CHECK(best != nullptr);  // No known GPU is older than the first of rates/.
    return *best;
}

}  // namespace softib::plan
