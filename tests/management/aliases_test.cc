// SPDX-License-Identifier: BSD-2-Clause
// Alias GUIDs: the port has the alias GUIDs that the SA gave it.
#include "core/wire/sa/guid_info_record.h"
#include "core/wire/sa/path_record.h"
#include "core/wire/sm/guid_info.h"
#include "rig.h"

namespace softib::sm {
namespace {

using wire::component;
using wire::GuidInfoRecord;
using wire::Method;
using wire::SaAttribute;

constexpr std::uint32_t kOwner = 5;  // Two hosts.
constexpr std::uint32_t kOther = 2;
constexpr Guid kAlias{0xA11A5};
constexpr std::uint64_t kBlockOfPort =
    component(&GuidInfoRecord::lid) | component(&GuidInfoRecord::block_num);

constexpr std::uint64_t guid_component(int index) {
    return std::uint64_t{1} << (4 + index);
}

struct Aliases : testing::Test {
    Aliases() : rig(fat_tree(16, 8)) {
        ManagerConfig high;
        high.priority = 5;
        rig.add_manager(0, high).start(rig.now_ns);
        rig.run();
    }

    std::optional<GuidInfoRecord> change(Method method, int index, Guid guid) {
        GuidInfoRecord record{.lid = rig.mesh.node(kOwner).port(1).lid};
        record.guid_info.guid[static_cast<std::size_t>(index)] = guid;
        return rig.ask_sa(kOwner, method, SaAttribute::kGuidInfoRecord,
                          kBlockOfPort | guid_component(index), record);
    }
    Guid in_port(std::uint16_t index) const { return rig.mesh.node(kOwner).guid(1, index); }

    Rig rig;
};

TEST_F(Aliases, AreWrittenIntoThePortAndTakenOut) {
    ASSERT_TRUE(change(Method::kSet, 2, kAlias));
    EXPECT_EQ(in_port(2), kAlias);
    EXPECT_EQ(in_port(0), rig.mesh.node(kOwner).spec().ports[1].guid) << "its own stays";
    const auto given = change(Method::kSet, 3, Guid{});
    ASSERT_TRUE(given);
    EXPECT_NE(in_port(3), Guid{}) << "of the administration's choice";
    EXPECT_EQ(in_port(3), given->guid_info.guid[3]);
    EXPECT_EQ(in_port(2), kAlias);
    for (std::uint16_t i = 1; i < 8; ++i) {
        EXPECT_EQ(rig.mesh.node(kOther).guid(1, i), Guid{}) << "nobody else has any";
    }
    ASSERT_TRUE(change(Method::kDelete, 2, kAlias));
    EXPECT_EQ(in_port(2), Guid{});
    EXPECT_EQ(in_port(3), given->guid_info.guid[3]);
}

TEST_F(Aliases, LeadToThePort) {
    using R = wire::PathRecord;
    ASSERT_TRUE(change(Method::kSet, 1, kAlias));
    R asked;
    asked.sgid = Gid::from(kSubnetPrefixDefault, rig.mesh.node(kOther).spec().ports[1].guid);
    asked.dgid = Gid::from(kSubnetPrefixDefault, kAlias);
    asked.numb_path = 1;
    const auto path =
        rig.ask_sa(kOther, Method::kGet, SaAttribute::kPathRecord,
                   component(&R::sgid) | component(&R::dgid) | component(&R::numb_path), asked);
    ASSERT_TRUE(path);
    EXPECT_EQ(path->dlid, rig.mesh.node(kOwner).port(1).lid);
    EXPECT_EQ(path->dgid, asked.dgid);
}

TEST_F(Aliases, AnAdapterThatComesBackHasThemAgain) {
    ASSERT_TRUE(change(Method::kSet, 1, kAlias));
    rig.mesh.set_powered(kOwner, false);
    rig.wait(1'000'000'000);
    rig.mesh.set_powered(kOwner, true);
    ASSERT_EQ(in_port(1), Guid{}) << "it has forgotten all";
    rig.wait(1'000'000'000);
    EXPECT_EQ(in_port(1), kAlias);
}

TEST_F(Aliases, AreWrittenOnce) {
    ASSERT_TRUE(change(Method::kSet, 1, kAlias));
    rig.service(0).manager().resweep(rig.now_ns);
    rig.run();
    const std::uint64_t before = rig.service(0).manager().stats().smps_sent;
    rig.service(0).manager().resweep(rig.now_ns);
    rig.run();
    const std::uint64_t sweep = rig.service(0).manager().stats().smps_sent - before;
    ASSERT_TRUE(change(Method::kSet, 2, Guid{kAlias.value + 1}));
    EXPECT_EQ(rig.service(0).manager().stats().smps_sent, before + sweep + 1);
}

TEST_F(Aliases, OutliveTheManager) {
    rig.add_manager(1).start(rig.now_ns);
    rig.wait(1'000'000'000);
    ASSERT_TRUE(change(Method::kSet, 1, kAlias));
    rig.wait(100'000'000);
    rig.kill_manager(0);
    rig.mesh.set_powered(kOwner, false);
    rig.mesh.set_powered(kOwner, true);
    rig.wait(2'000'000'000);
    ASSERT_EQ(rig.service(0).manager().state(), wire::SmState::kMaster);
    EXPECT_EQ(in_port(1), kAlias) << "its heir writes them";
}

}  // namespace
}  // namespace softib::sm
