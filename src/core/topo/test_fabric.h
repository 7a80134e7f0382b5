// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Generated fabrics, for tests.

#include <gtest/gtest.h>

#include "core/topo/graph.h"
#include "core/topo/spec.h"

namespace softib::topo {

inline Fabric make(const Spec& spec) {
    auto fabric = generate(spec);
    EXPECT_TRUE(fabric) << (fabric ? "" : fabric.error().message);
    return fabric ? *fabric : Fabric{};
}

}  // namespace softib::topo
