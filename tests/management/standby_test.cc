// SPDX-License-Identifier: BSD-2-Clause
// What programs have registered with a master survives the master's end, if one of our subnet
// managers stands by.
#include <string_view>

#include "core/wire/sa/mc_member_record.h"
#include "core/wire/sa/service_record.h"
#include "rig.h"

namespace softib::sm {
namespace {

using wire::component;
using wire::Method;
using wire::SaAttribute;

constexpr std::uint32_t kProgram = 5;  // The node of a program that registers.
constexpr std::uint64_t kId = 0x1234;

struct Standby : testing::Test {
    Standby() : rig(fat_tree(16, 8)) {
        ManagerConfig high;
        high.priority = 5;
        rig.add_manager(0, high).start(rig.now_ns);
        rig.run();
        rig.add_manager(1).start(rig.now_ns);
        rig.wait(1'000'000'000);
    }

    template <wire::Attribute T>
    std::optional<T> ask(Method method, SaAttribute attribute, std::uint64_t components,
                         const T& record) {
        return rig.ask_sa(kProgram, method, attribute, components, record);
    }
    Gid program_gid() const {
        return Gid::from(kSubnetPrefixDefault, rig.mesh.node(kProgram).spec().ports[1].guid);
    }
    bool register_service() {
        using R = wire::ServiceRecord;
        R record{.service_id = kId,
                 .service_gid = program_gid(),
                 .service_pkey = kPKeyDefaultFull,
                 .service_lease = wire::kServiceLeaseInfinite};
        record.service_name = wire::Text<64>(std::string_view("bakery"));
        return ask(Method::kSet, SaAttribute::kServiceRecord,
                   component(&R::service_id) | component(&R::service_gid) |
                       component(&R::service_pkey) | component(&R::service_lease) |
                       component(&R::service_name),
                   record)
            .has_value();
    }
    std::string name_of_service() {
        const auto found = ask(Method::kGet, SaAttribute::kServiceRecord,
                               component(&wire::ServiceRecord::service_id),
                               wire::ServiceRecord{.service_id = kId});
        return found ? std::string(found->service_name.view()) : "nobody";
    }
    Lid join() {
        using R = wire::McMemberRecord;
        R record = ipoib_broadcast_group(kPKeyDefaultFull);
        record.port_gid = program_gid();
        record.join_state = wire::kJoinFullMember;
        const auto joined =
            ask(Method::kSet, SaAttribute::kMcMemberRecord,
                component(&R::mgid) | component(&R::port_gid) | component(&R::join_state), record);
        return joined ? joined->mlid : kLidUnassigned;
    }

    Rig rig;
};

TEST_F(Standby, KnowsWhatTheMasterKnew) {
    ASSERT_EQ(rig.service(0).manager().state(), wire::SmState::kMaster);
    ASSERT_EQ(rig.service(1).manager().state(), wire::SmState::kStandby);
    ASSERT_TRUE(register_service());
    const Lid mlid = join();
    ASSERT_NE(mlid, kLidUnassigned);
    const Lid old_master = rig.mesh.node(kProgram).port(1).master_sm_lid;
    rig.wait(100'000'000);
    rig.kill_manager(0);
    rig.wait(2'000'000'000);
    ASSERT_EQ(rig.service(0).manager().state(), wire::SmState::kMaster);
    EXPECT_NE(rig.mesh.node(kProgram).port(1).master_sm_lid, old_master);
    EXPECT_EQ(name_of_service(), "bakery");
    const auto members = rig.service(0).admin().members_of(mlid);
    ASSERT_EQ(members.size(), 1U);
    EXPECT_TRUE(members[0].receives);
    const auto at = rig.mesh.peer({kProgram, 1});
    EXPECT_TRUE(rig.mesh.node(at.node).forwards_multicast(mlid, at.port));
}

TEST_F(Standby, TakesWhatWasRegisteredBeforeItCameToo) {
    ASSERT_TRUE(register_service());
    rig.add_manager(2).start(rig.now_ns);
    rig.wait(500'000'000);
    rig.kill_manager(0);
    rig.kill_manager(0);
    rig.wait(3'000'000'000);
    ASSERT_EQ(rig.service(0).manager().state(), wire::SmState::kMaster);
    EXPECT_EQ(name_of_service(), "bakery");
}

TEST_F(Standby, GivesItBackWhenTheFirstReturns) {
    ASSERT_TRUE(register_service());
    rig.wait(100'000'000);
    rig.kill_manager(0);
    rig.wait(2'000'000'000);
    ManagerConfig high;
    high.priority = 5;
    rig.add_manager(0, high).start(rig.now_ns);
    rig.wait(2'000'000'000);
    ASSERT_EQ(rig.service(1).manager().state(), wire::SmState::kMaster);
    ASSERT_EQ(rig.service(0).manager().state(), wire::SmState::kStandby);
    EXPECT_EQ(name_of_service(), "bakery");
}

TEST_F(Standby, WithAnotherKeyIsToldNothing) {
    ManagerConfig rogue;
    rogue.sm_key = 99;
    rig.add_manager(3, rogue);
    rig.run();
    ASSERT_TRUE(register_service());
    rig.wait(500'000'000);
    EXPECT_TRUE(rig.service(2).admin().services().all().empty());
    EXPECT_EQ(rig.service(0).manager().others().size(), 1U);
}

}  // namespace
}  // namespace softib::sm
