// SPDX-License-Identifier: BSD-2-Clause
// The manager and the agents of a whole fabric, joined by a mesh.
#include "core/sm/manager.h"

#include <gtest/gtest.h>

#include "core/agent/from_fabric.h"
#include "core/base/prng.h"

namespace softib::sm {
namespace {

class NoCounters : public agent::CounterSource {
  public:
    agent::PortCounts read(std::uint32_t, std::uint8_t) override { return {}; }
};

/// A fabric with managers on some of its nodes; time passes only when asked to.
class Rig {
  public:
    explicit Rig(const topo::Spec& spec) : fabric_(*topo::generate(spec)), mesh(agent::make_mesh(fabric_, counters_)) {}

    std::uint32_t first_switch() const {
        for (std::uint32_t i = 0; i < fabric_.nodes.size(); ++i) {
            if (fabric_.nodes[i].kind == topo::NodeKind::kSwitch) {
                return i;
            }
        }
        return UINT32_MAX;
    }
    Manager& add_manager(std::uint32_t node, ManagerConfig config = {}) {
        const bool is_switch = mesh.node(node).is_switch();
        config.port = is_switch ? 0 : 1;
        config.port_guid = mesh.node(node).spec().ports[config.port].guid;
        managers_.push_back({node, config.port, std::make_unique<Manager>(config)});
        mesh.node(node).set_capability(config.port, wire::port_capability::kIsSM, true);
        return *managers_.back().manager;
    }
    /// Until nobody has anything to say any more.
    void run() {
        for (bool busy = true; busy;) {
            busy = false;
            mesh.advance(now_ns);
            for (Entry& entry : managers_) {
                while (const auto out = entry.manager->poll_transmit(now_ns)) {
                    busy = true;
                    agent::Packet packet;
                    packet.mad = out->mad;
                    packet.dlid = out->dlid;
                    mesh.send({entry.node, entry.port}, packet, now_ns);
                    deliver();
                }
            }
            busy = deliver() || busy;
        }
        while (mesh.poll_change()) {
        }
    }
    /// Lets time pass in steps.
    void wait(std::uint64_t ns) {
        const std::uint64_t end = now_ns + ns;
        while (now_ns < end) {
            now_ns = std::min(end, now_ns + 50'000'000);
            for (Entry& entry : managers_) {
                entry.manager->handle_timeout(now_ns);
            }
            run();
        }
    }
    /// Every pair of present adapters that the cables connect is connected by the tables.
    void expect_all_pairs() const {
        for (std::uint32_t a = 0; a < mesh.size(); ++a) {
            for (std::uint32_t b = 0; b < mesh.size(); ++b) {
                if (mesh.node(a).is_switch() || mesh.node(b).is_switch()) {
                    continue;
                }
                const Lid lid = mesh.node(b).port(1).lid;
                ASSERT_NE(lid, kLidUnassigned) << b;
                const auto end = mesh.route({a, 1}, lid, false);
                ASSERT_TRUE(end) << a << " to " << b;
                EXPECT_EQ(end->node, b);
            }
        }
    }

  private:
    struct Entry {
        std::uint32_t node;
        std::uint8_t port;
        std::unique_ptr<Manager> manager;
    };
    bool deliver() {
        bool any = false;
        while (const auto delivery = mesh.poll_delivery()) {
            any = true;
            for (Entry& entry : managers_) {
                if (entry.node == delivery->at.node) {
                    entry.manager->handle(delivery->packet.mad, delivery->packet.slid, now_ns);
                }
            }
        }
        return any;
    }

    topo::Fabric fabric_;
    NoCounters counters_;
    std::vector<Entry> managers_;

  public:
    agent::Mesh mesh;
    std::uint64_t now_ns = 1'000'000'000;
};

topo::Spec fat_tree(std::uint32_t hosts) {
    topo::Spec spec;
    spec.shape = topo::Shape::kFatTree;
    spec.hosts = hosts;
    spec.radix = 8;
    return spec;
}

TEST(Manager, BringsASubnetUp) {
    Rig rig(fat_tree(16));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    EXPECT_TRUE(manager.settled());
    EXPECT_EQ(manager.state(), wire::SmState::kMaster);
    EXPECT_EQ(manager.subnet().size(), rig.mesh.size());
    rig.expect_all_pairs();
    for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
        const agent::Node& node = rig.mesh.node(i);
        for (std::uint8_t p = 1; p <= node.port_count(); ++p) {
            if (rig.mesh.peer({i, p}).node != agent::kNoNode) {
                EXPECT_EQ(node.port(p).port_state, wire::PortState::kActive);
            }
        }
    }
}

TEST(Manager, RunsOnAHostToo) {
    Rig rig(fat_tree(16));
    Manager& manager = rig.add_manager(3);
    manager.start(rig.now_ns);
    rig.run();
    EXPECT_EQ(manager.state(), wire::SmState::kMaster);
    rig.expect_all_pairs();
}

TEST(Manager, AdaptersGetTheLowLidsInOrder) {
    Rig rig(fat_tree(16));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    std::uint16_t next = 0;
    for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
        if (!rig.mesh.node(i).is_switch()) {
            EXPECT_EQ(rig.mesh.node(i).port(1).lid, Lid{++next});
        }
    }
}

TEST(Manager, ASecondSweepWritesNothing) {
    Rig rig(fat_tree(16));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    const std::uint64_t blocks = manager.stats().lft_blocks;
    manager.resweep(rig.now_ns);
    rig.run();
    EXPECT_EQ(manager.stats().sweeps_full, 2U);
    EXPECT_EQ(manager.stats().lft_blocks, blocks);
}

TEST(Manager, LostCableIsRoutedAroundAndComesBack) {
    Rig rig(fat_tree(16));
    const std::uint32_t sw = rig.first_switch();
    Manager& manager = rig.add_manager(sw);
    manager.start(rig.now_ns);
    rig.run();
    // An uplink: a port of the first switch that leads to another switch.
    std::uint8_t up = 0;
    for (std::uint8_t p = 1; p <= rig.mesh.node(sw).port_count(); ++p) {
        const agent::End peer = rig.mesh.peer({sw, p});
        if (peer.node != agent::kNoNode && rig.mesh.node(peer.node).is_switch()) {
            up = p;
        }
    }
    ASSERT_NE(up, 0);
    const auto lids = manager.lids();
    rig.mesh.set_plugged({sw, up}, false);
    rig.run();
    EXPECT_TRUE(manager.settled()) << "it asked by a way that is no more, and waits";
    EXPECT_GE(manager.stats().sweeps_partial, 1U);
    EXPECT_EQ(manager.stats().sweeps_full, 1U);
    rig.expect_all_pairs();
    EXPECT_EQ(manager.subnet().node(manager.subnet().find(rig.mesh.node(sw).spec().node_guid)).ports[up].peer, kNoNode);
    rig.mesh.set_plugged({sw, up}, true);
    rig.run();
    rig.expect_all_pairs();
    EXPECT_EQ(rig.mesh.node(sw).port(up).port_state, wire::PortState::kActive);
    EXPECT_EQ(manager.lids(), lids);
}

TEST(Manager, DeadSwitchIsForgottenAndFoundAgain) {
    Rig rig(fat_tree(16));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    // A spine: a switch without adapters.
    std::uint32_t spine = UINT32_MAX;
    for (std::uint32_t i = 0; i < rig.mesh.size(); ++i) {
        if (!rig.mesh.node(i).is_switch()) {
            continue;
        }
        bool hosts = false;
        for (std::uint8_t p = 1; p <= rig.mesh.node(i).port_count(); ++p) {
            const agent::End peer = rig.mesh.peer({i, p});
            hosts = hosts || (peer.node != agent::kNoNode && !rig.mesh.node(peer.node).is_switch());
        }
        if (!hosts) {
            spine = i;
        }
    }
    ASSERT_NE(spine, UINT32_MAX);
    const Guid guid = rig.mesh.node(spine).spec().node_guid;
    const Lid lid = rig.mesh.node(spine).port(0).lid;
    rig.mesh.set_powered(spine, false);
    rig.run();
    EXPECT_TRUE(manager.settled());
    EXPECT_FALSE(manager.subnet().node(manager.subnet().find(guid)).present);
    rig.expect_all_pairs();
    rig.mesh.set_powered(spine, true);
    rig.run();
    EXPECT_TRUE(manager.subnet().node(manager.subnet().find(guid)).present);
    EXPECT_EQ(rig.mesh.node(spine).port(0).lid, lid);
    rig.expect_all_pairs();
}

TEST(Manager, MulticastTreeReachesEveryMemberOnce) {
    Rig rig(fat_tree(16));
    Manager& manager = rig.add_manager(rig.first_switch());
    manager.start(rig.now_ns);
    rig.run();
    McastTree tree{Lid{0xC003}, {}};
    for (const int lid : {1, 5, 9, 13, 16}) {
        tree.members.push_back(*manager.subnet().by_lid(Lid{static_cast<std::uint16_t>(lid)}));
    }
    manager.set_groups({tree}, rig.now_ns);
    rig.run();
    // Flood from the first member.
    std::map<std::uint32_t, int> arrived;
    std::vector<agent::End> queue;
    const auto from = rig.mesh.route({0, 1}, Lid{1}, false);
    ASSERT_TRUE(from);
    queue.push_back(rig.mesh.peer(*from));
    while (!queue.empty() && arrived.size() < 100) {
        const agent::End at = queue.back();
        queue.pop_back();
        const agent::Node& node = rig.mesh.node(at.node);
        if (!node.is_switch()) {
            ++arrived[node.port(1).lid.value];
            continue;
        }
        for (std::uint8_t p = 1; p <= node.port_count(); ++p) {
            if (p != at.port && node.forwards_multicast(tree.mlid, p)) {
                queue.push_back(rig.mesh.peer({at.node, p}));
            }
        }
    }
    EXPECT_EQ(arrived, (std::map<std::uint32_t, int>{{5, 1}, {9, 1}, {13, 1}, {16, 1}}));
}

TEST(Election, HigherPriorityThenLowerGuidIsMaster) {
    Rig rig(fat_tree(16));
    ManagerConfig low;
    ManagerConfig high;
    high.priority = 5;
    Manager& a = rig.add_manager(0, low);
    Manager& b = rig.add_manager(1, high);
    Manager& c = rig.add_manager(2, low);
    a.start(rig.now_ns);
    b.start(rig.now_ns);
    c.start(rig.now_ns);
    rig.wait(3'000'000'000);
    EXPECT_EQ(b.state(), wire::SmState::kMaster);
    EXPECT_EQ(a.state(), wire::SmState::kStandby);
    EXPECT_EQ(c.state(), wire::SmState::kStandby);
}

TEST(Election, StandbyTakesOverWhenTheMasterIsSilent) {
    Rig rig(fat_tree(16));
    ManagerConfig high;
    high.priority = 5;
    Manager& a = rig.add_manager(0);
    Manager& b = rig.add_manager(1, high);
    b.start(rig.now_ns);
    rig.wait(1'000'000'000);
    a.start(rig.now_ns);
    rig.run();
    ASSERT_EQ(b.state(), wire::SmState::kMaster);
    ASSERT_EQ(a.state(), wire::SmState::kStandby);
    const auto lids = b.lids();
    b.stop();
    rig.wait(2'000'000'000);
    EXPECT_EQ(a.state(), wire::SmState::kMaster);
    EXPECT_EQ(a.lids(), lids);
    rig.expect_all_pairs();
}

TEST(Election, MasterHandsOverToAHigherPriority) {
    Rig rig(fat_tree(16));
    ManagerConfig high;
    high.priority = 5;
    Manager& a = rig.add_manager(0);
    a.start(rig.now_ns);
    rig.run();
    ASSERT_EQ(a.state(), wire::SmState::kMaster);
    Manager& b = rig.add_manager(1, high);
    b.start(rig.now_ns);
    rig.run();
    a.resweep(rig.now_ns);
    rig.wait(2'000'000'000);
    EXPECT_EQ(b.state(), wire::SmState::kMaster);
    EXPECT_EQ(a.state(), wire::SmState::kStandby);
    rig.expect_all_pairs();
}

TEST(Election, AnotherSmKeyDoesNotCount) {
    Rig rig(fat_tree(16));
    ManagerConfig rogue;
    rogue.priority = 15;
    rogue.sm_key = 99;
    Manager& a = rig.add_manager(0);
    Manager& b = rig.add_manager(1, rogue);
    a.start(rig.now_ns);
    rig.wait(1'000'000'000);
    b.start(rig.now_ns);
    rig.wait(1'000'000'000);
    EXPECT_EQ(a.state(), wire::SmState::kMaster);
    EXPECT_TRUE(a.others().empty());
    EXPECT_FALSE(b.hand_over(rig.now_ns)) << "nobody it could hand over to";
}

}  // namespace
}  // namespace softib::sm
