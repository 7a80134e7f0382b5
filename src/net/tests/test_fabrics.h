// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Small fabrics with scale hosts, for tests.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/topo/spec.h"
#include "net/engine/inspector.h"
#include "net/sim/fabric.h"
#include "net/tests/test_scale_hosts.h"

namespace softib::net {

using TestFabric = Fabric<ScaleHosts>;

inline std::unique_ptr<TestFabric> make_fabric(const topo::Spec& spec, const std::string& engine,
                                               const PlantConfig& config = {},
                                               const ScaleConfig& hosts = {}, unsigned width = 0) {
    auto topology = topo::generate(spec);
    EXPECT_TRUE(topology) << (topology ? "" : topology.error().message);
    auto routed = Routed::make(*topology, engine, config.data_vls);
    EXPECT_TRUE(routed) << (routed ? "" : routed.error().message);
    return std::make_unique<TestFabric>(*std::move(routed), config, width, hosts);
}

inline topo::Spec star(std::uint32_t hosts) {
    return {.shape = topo::Shape::kSingleSwitch, .hosts = hosts};
}
inline topo::Spec tree(std::uint32_t hosts, std::uint32_t radix) {
    return {.shape = topo::Shape::kFatTree, .hosts = hosts, .radix = radix, .levels = 2};
}
inline topo::Spec ring(std::uint32_t switches) {
    return {.shape = topo::Shape::kTorus, .hosts = switches, .dimensions = {switches}};
}

inline void send(TestFabric& fabric, std::uint32_t from, std::uint32_t to, std::uint64_t bytes) {
    fabric.ends().start(fabric.engine(), fabric.port(from), fabric.lid(from), fabric.lid(to), bytes,
                        fabric.sl(from, to));
}

/// Makes every host send to the one `shift` places on.
inline void send_shift(TestFabric& fabric, std::uint32_t shift, std::uint64_t bytes) {
    for (std::uint32_t i = 0; i < fabric.host_count(); ++i) {
        send(fabric, i, (i + shift) % fabric.host_count(), bytes);
    }
}

inline std::string lines(const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& line : all) {
        text += line + "\n";
    }
    return text;
}

/// Expects that credits and counters add up.
inline void expect_sound(TestFabric& fabric) {
    EXPECT_EQ(lines(Inspector(fabric.engine()).check_credits()), "");
    EXPECT_EQ(lines(Inspector(fabric.engine()).check_counters()), "");
}

}  // namespace softib::net
