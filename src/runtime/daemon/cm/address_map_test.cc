// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/cm/address_map.h"

#include <gtest/gtest.h>

#include "core/cm/address.h"
#include "runtime/shm/addresses.h"
#include "runtime/shm/test_arena.h"

namespace softib::daemon {
namespace {

TEST(AddressMap, FindsWhatItWasGiven) {
    const shm::TestArena fabric;
    const auto map = AddressMap::parse(fabric.arena, " 10.0.0.1=h0, fd00::2 = h1/mlx5_0 ,");
    ASSERT_TRUE(map) << map.error();
    EXPECT_EQ(map->find(cm::with_port(cm::ip4(10, 0, 0, 1), 5)), 0U);
    EXPECT_EQ(map->find(cm::ip4(10, 0, 0, 2)), UINT32_MAX);
    EXPECT_EQ(cm::to_string(map->entries()[1].address), "fd00:0000:0000:0000:0000:0000:0000:0002");
    EXPECT_EQ(map->entries()[1].hca, 2U);
    EXPECT_EQ(map->address_of(0), cm::ip4(10, 0, 0, 1));
    EXPECT_EQ(map->address_of(2), std::nullopt);
}

TEST(AddressMap, RefusesWhatIsNone) {
    const shm::TestArena fabric;
    for (const char* text :
         {"10.0.0.1", "h0=10.0.0.1", "10.0.0=h0", "10.0.0.1=h9", "10.0.0.1=h0/mlx5_9",
          "239.0.0.1=h0", "0.0.0.0=h0", "10.0.0.1=h0,10.0.0.1=h1"}) {
        EXPECT_FALSE(AddressMap::parse(fabric.arena, text)) << text;
    }
}

TEST(Addresses, EveryPortIsFoundByItsOwn) {
    const shm::TestArena fabric;
    EXPECT_EQ(cm::to_string(address_of_hca(fabric.arena, 3)), "127.55.1.2");
    EXPECT_EQ(find_hca(fabric.arena, cm::ip4(127, 55, 1, 2)), 3U);
    EXPECT_EQ(find_hca(fabric.arena, cm::ip4(127, 55, 1, 3)), UINT32_MAX);
    EXPECT_EQ(find_hca(fabric.arena, cm::ip4(127, 55, 1, 0)), UINT32_MAX);
    EXPECT_EQ(find_hca(fabric.arena, cm::ip4(127, 56, 0, 1)), UINT32_MAX);
    EXPECT_EQ(find_hca(fabric.arena, cm::ip4(127, 0, 0, 1)), UINT32_MAX);
    cm::Address by_gid;
    by_gid.family = cm::Family::kIp6;
    by_gid.bytes = gid_at(fabric.arena.hcas[1], 0);
    EXPECT_EQ(find_hca(fabric.arena, by_gid), 1U);
}

}  // namespace
}  // namespace softib::daemon
