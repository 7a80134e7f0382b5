// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/builder.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <utility>

#include "core/topo/spec.h"
#include "runtime/daemon/mcast_table.h"
#include "runtime/shm/test_arena.h"

namespace softib::daemon {
namespace {

class BuiltFabric {
  public:
    explicit BuiltFabric(const topo::Spec& spec)
        : fabric(topo::generate(spec).value()),
          arena(build_arena(fabric, {.arena_bytes = shm::kTestArenaBytes})) {}
    ~BuiltFabric() { arena_unmap(arena); }

    topo::Fabric fabric;
    shm::Arena arena;
};

TEST(Builder, HcasStandInTheOrderOfTheirHosts) {
    const BuiltFabric built({.hosts = 3, .hcas_per_host = 2});
    const shm::Arena& arena = built.arena;
    ASSERT_EQ(arena.header->hosts, 3U);
    ASSERT_EQ(arena.header->hcas, 6U);
    std::set<std::uint64_t> guids;
    for (std::uint32_t h = 0; h < 3; ++h) {
        EXPECT_EQ(arena.hosts[h].name, "h" + std::to_string(h));
        EXPECT_EQ(arena.hosts[h].hca_first, 2 * h);
        EXPECT_EQ(arena.hosts[h].hca_count, 2U);
        for (std::uint32_t i = 0; i < 2; ++i) {
            const shm::HcaRecord& hca = arena.hcas[2 * h + i];
            EXPECT_EQ(hca.name, "mlx5_" + std::to_string(i));
            EXPECT_EQ(hca.host, h);
            EXPECT_EQ(hca.index_on_host, i);
            EXPECT_EQ(hca.state.load(), PortState::kDown) << "no manager has been here";
            EXPECT_EQ(hca.lid.load(), 0);
            EXPECT_EQ(hca.pkeys[0].load(), 0xFFFF);
            EXPECT_EQ(hca.pkeys[1].load(), 0);
            EXPECT_EQ(hca.gid_prefix, kSubnetPrefixDefault);
            EXPECT_EQ(hca.port_guid,
                      topo::port_guid(built.fabric.nodes[2 * h + i], PortNum{1}).value);
            guids.insert(hca.port_guid);
        }
    }
    EXPECT_EQ(guids.size(), 6U);
}

TEST(Builder, NameThatDoesNotFitIsRefused) {
    topo::Fabric fabric = topo::generate({.hosts = 1}).value();
    fabric.hosts[0].name.assign(56, 'x');
    EXPECT_EQ(build_arena(fabric, {.arena_bytes = shm::kTestArenaBytes}).base, nullptr);
    EXPECT_EQ(errno, ENAMETOOLONG);
}

TEST(McastTable, MembersAreReadWholeAndGoWithTheirProcess) {
    const BuiltFabric built({.hosts = 1});
    const shm::Arena& arena = built.arena;
    McastTable table(arena);
    Gid mgid;
    mgid.bytes[0] = 0xFF;
    const Lid mlid{0xC001};
    const std::uint64_t generation = arena.header->mcast_generation.load();
    EXPECT_EQ(table.attach(1, Qpn{10}, mgid, mlid), 0);
    EXPECT_EQ(table.attach(2, Qpn{11}, mgid, mlid), 0);
    EXPECT_EQ(table.attach(1, Qpn{12}, mgid, mlid), 0);
    EXPECT_EQ(arena.header->mcast_generation.load(), generation + 3);
    const shm::McastGroup& group = arena.mcast[0];
    EXPECT_EQ(group.members, 3);
    EXPECT_EQ(group.mlid, mlid.value);
    EXPECT_EQ(group.seq.load() % 2, 0U);
    table.drop_owner(1);
    ASSERT_EQ(group.members, 1);
    EXPECT_EQ(group.qpns[0], 11U);
    EXPECT_EQ(table.detach(1, Qpn{11}, mgid, mlid), EINVAL);
    EXPECT_EQ(table.detach(2, Qpn{11}, mgid, mlid), 0);
    EXPECT_EQ(group.members, 0);
    EXPECT_EQ(group.seq.load() % 2, 0U);
}

}  // namespace
}  // namespace softib::daemon
