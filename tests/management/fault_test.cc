// SPDX-License-Identifier: BSD-2-Clause
// Cables and switches fail and come back at random while the subnet manager sweeps. When failures
// end, every two HCAs that cables connect reach each other, and all LIDs are as before.
#include <cstdlib>
#include <map>
#include <string>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/topo/spec.h"
#include "rig.h"

namespace softib::sm {
namespace {

constexpr std::uint32_t kSeedsDefault = effort(1000, 50);
constexpr std::uint32_t kEvents = 12;
constexpr std::uint64_t kQuietNs = 30'000'000'000;

topo::Spec spec_of(Prng& random) {
    topo::Spec spec;
    switch (random.below(3)) {
        case 0:
            spec.shape = topo::Shape::kFatTree;
            spec.hosts = 16;
            spec.radix = 8;
            break;
        case 1:
            spec.shape = topo::Shape::kTorus;
            spec.dimensions = {3, 3};
            spec.hosts = 9;
            spec.hosts_per_switch = 1;
            break;
        default:
            spec.shape = topo::Shape::kDragonfly;
            spec.hosts = 12;
    }
    return spec;
}

/// Returns the nodes that can be reached from `root` over powered nodes and plugged cables.
std::vector<bool> connected_to(const agent::Mesh& mesh, std::uint32_t root) {
    std::vector<bool> seen(mesh.size());
    std::vector<std::uint32_t> queue{root};
    seen[root] = true;
    while (!queue.empty()) {
        const std::uint32_t at = queue.back();
        queue.pop_back();
        if (!mesh.node(at).is_switch() && at != root) {
            continue;
        }
        for (std::uint8_t p = 1; p <= mesh.node(at).port_count(); ++p) {
            const agent::End peer = mesh.peer({at, p});
            if (peer.node != agent::kNoNode && mesh.plugged({at, p}) && mesh.powered(peer.node) &&
                !seen[peer.node]) {
                seen[peer.node] = true;
                queue.push_back(peer.node);
            }
        }
    }
    return seen;
}

void break_something(Rig& rig, Prng& random, std::uint32_t root) {
    const auto node = static_cast<std::uint32_t>(random.below(rig.mesh.size()));
    const agent::Node& victim = rig.mesh.node(node);
    if (victim.is_switch() && node != root && random.below(4) == 0) {
        rig.mesh.set_powered(node, !rig.mesh.powered(node));
        return;
    }
    const auto port = static_cast<std::uint8_t>(1 + random.below(victim.port_count()));
    if (rig.mesh.peer({node, port}).node != agent::kNoNode) {
        rig.mesh.set_plugged({node, port}, !rig.mesh.plugged({node, port}));
    }
}

/// Checks that an HCA and the port that it is cabled to are in the right partitions, and that all
/// lanes are mapped as the manager believes.
void check_tables(const Rig& rig, const Manager& manager, std::uint32_t adapter) {
    const agent::End at = rig.mesh.peer({adapter, 1});
    const Guid guid = rig.mesh.node(adapter).spec().ports[1].guid;
    const auto& partitions = manager.config().partitions;
    const std::vector<PKey> keys =
        partitions ? keys_of(*partitions, {.guid = guid}) : std::vector<PKey>{kPKeyDefaultFull};
    for (const agent::End end : {agent::End{adapter, 1}, at}) {
        const agent::Node& node = rig.mesh.node(end.node);
        for (std::uint16_t i = 0; i < node.spec().pkeys; ++i) {
            ASSERT_EQ(node.pkey(end.port, i), i < keys.size() ? keys[i] : PKey{0}) << end.node;
        }
        const NodeIndex index = manager.subnet().find(node.spec().node_guid);
        const auto& sl2vl = manager.subnet().node(index).sl2vl;
        for (std::size_t out = 0; out < sl2vl.size(); ++out) {
            for (std::size_t in = 0; in < sl2vl[out].size(); ++in) {
                for (std::uint8_t sl = 0; sl < 16; ++sl) {
                    ASSERT_EQ(
                        node.vl(static_cast<std::uint8_t>(in), static_cast<std::uint8_t>(out), sl),
                        sl2vl[out][in].vl[sl]);
                }
            }
        }
    }
    ASSERT_EQ(rig.mesh.node(at.node).port(at.port).partition_enforcement_inbound,
              partitions.has_value());
}

void check(const Rig& rig, const Manager& manager, std::uint32_t root,
           const std::map<std::uint64_t, Lid>& lids) {
    const std::vector<bool> connected = connected_to(rig.mesh, root);
    for (const auto& [guid, lid] : lids) {
        ASSERT_EQ(manager.lids().at(guid), lid) << "a LID has changed";
    }
    for (std::uint32_t a = 0; a < rig.mesh.size(); ++a) {
        const agent::Node& from = rig.mesh.node(a);
        const bool known =
            manager.subnet().find(from.spec().node_guid) != kNoNode &&
            manager.subnet().node(manager.subnet().find(from.spec().node_guid)).present;
        ASSERT_EQ(known, connected[a]) << "node " << a;
        if (from.is_switch() || !connected[a]) {
            continue;
        }
        check_tables(rig, manager, a);
        for (std::uint32_t b = 0; b < rig.mesh.size(); ++b) {
            if (rig.mesh.node(b).is_switch() || !connected[b]) {
                continue;
            }
            const auto end = rig.mesh.route({a, 1}, rig.mesh.node(b).port(1).lid, false);
            ASSERT_TRUE(end && end->node == b) << "from node " << a << " to " << b;
        }
    }
}

std::uint32_t number_in(const char* variable, std::uint32_t otherwise) {
    const char* const text = std::getenv(variable);
    return text == nullptr ? otherwise : static_cast<std::uint32_t>(std::atoi(text));
}

void run_seed(std::uint32_t seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng random(seed);
    Rig rig(spec_of(random));
    const std::uint32_t root = rig.first_switch();
    ManagerConfig config;
    constexpr const char* kEngines[] = {"minhop", "updn", "nue"};
    config.engine = kEngines[random.below(3)];
    config.qos.on = seed % 2 == 0;
    if (seed / 2 % 2 == 0) {
        config.partitions = *parse_partitions("a=1: ALL=full; b=2: ALL_CAS; c=3: ALL_SWITCHES;");
    }
    Manager& manager = rig.add_manager(root, config);
    manager.start(rig.now_ns);
    rig.run();
    const auto lids = manager.lids();
    for (std::uint32_t i = 0; i < kEvents; ++i) {
        break_something(rig, random, root);
        rig.run_some(static_cast<std::uint32_t>(random.below(60)));
        if (random.below(3) == 0) {
            rig.wait(50'000'000 * random.below(6));
        }
    }
    rig.wait(kQuietNs);
    ASSERT_TRUE(manager.settled());
    check(rig, manager, root, lids);
}

TEST(Faults, AnyOrderOfFailuresEndsInASoundSubnet) {
    // SOFTIB_SEEDS=N runs the seeds 1 to N, SOFTIB_SEED=N only the seed N.
    const std::uint32_t only = number_in("SOFTIB_SEED", 0);
    const std::uint32_t first = only != 0 ? only : 1;
    const std::uint32_t last = only != 0 ? only : number_in("SOFTIB_SEEDS", kSeedsDefault);
    for (std::uint32_t seed = first; seed <= last && !HasFatalFailure(); ++seed) {
        run_seed(seed);
    }
}

TEST(Faults, TrapsDoNotPutOffTheNextLook) {
    run_seed(4263);
}

TEST(Faults, HostsBehindASwitchThatWasGoneAreAskedAgain) {
    run_seed(5070);
}

}  // namespace
}  // namespace softib::sm
