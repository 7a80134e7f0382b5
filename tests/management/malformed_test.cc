// SPDX-License-Identifier: BSD-2-Clause
// A flood of malformed MADs from every node to every node: to agents, our subnet manager, its SA,
// and RMPP. Nothing crashes or hangs, and a sender without the key changes nothing. SOFTIB_MADS
// sets their number, SOFTIB_SEED the seed.
#include <cstdlib>
#include <string>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/wire/sa/sa.h"
#include "core/wire/sharp/sharp_am_key_info.h"
#include "core/wire/sharp/sharp_qp_allocation.h"
#include "node_state.h"
#include "plane.h"

namespace softib::sm {
namespace {

using wire::Method;
using wire::MgmtClass;
using wire::SmAttribute;

constexpr std::uint64_t kMadsDefault = effort(1'000'000, 20'000);
constexpr std::uint64_t kSeedDefault = 1;
constexpr std::uint64_t kMKey = 0xA1B2'C3D4'E5F6'0718;
constexpr std::uint64_t kCcKey = 0x1020'3040'5060'7080;
constexpr std::uint64_t kAmKey = 0x0B0B'1CEB'00DA'0B0B;
constexpr std::uint64_t kSmKey = 0x5EC2'E75E'C2E7'5EC2;

std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
    const char* const text = std::getenv(name);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 0);
}

/// Makes packets that are wrong in many ways, or only in one.
class Generator {
  public:
    Generator(Plane& plane, std::uint64_t seed, std::uint64_t mkey)
        : plane_(plane), random_(seed), mkey_(mkey) {}

    struct Shot {
        agent::End from;
        mad::Packet packet;
    };

    Shot next() {
        Shot shot;
        const auto node = static_cast<std::uint32_t>(below(plane_.mesh.size()));
        shot.from = {node, plane_.mesh.node(node).is_switch() ? std::uint8_t{0} : std::uint8_t{1}};
        wire::MadBytes& mad = shot.packet.mad;
        switch (below(18)) {
            case 0:
                fill(mad);
                break;
            case 1:
            case 2:
            case 3:
            case 4:
                subnet(mad, MgmtClass::kSubnLidRouted);
                break;
            case 5:
            case 6:
            case 7:
                directed(mad);
                break;
            case 8:
            case 9:
                admin(mad, false);
                break;
            case 10:
            case 11:
                admin(mad, true);
                break;
            case 12:
                service(mad, MgmtClass::kPerf, 1, 0x10, 0x38);
                break;
            case 13:
                service(mad, MgmtClass::kCongestion, 2, 0x10, 0x19);
                break;
            case 14:
                to_manager(mad);
                break;
            case 15:
            case 16:
                aggregation(mad);
                break;
            default:
                service(mad, static_cast<MgmtClass>(below(256)), byte(), 0, 0x100);
        }
        for (std::uint64_t flips = chance(1, 3) ? 1 + below(4) : 0; flips > 0; --flips) {
            mad[below(mad.size())] ^= static_cast<std::uint8_t>(1U << below(8));
        }
        address(shot.packet);
        return shot;
    }

  private:
    std::uint64_t below(std::uint64_t bound) { return random_.below(bound); }
    bool chance(std::uint32_t n, std::uint32_t out_of) { return random_.chance(n, out_of); }
    std::uint8_t byte() { return static_cast<std::uint8_t>(random_.next()); }
    void fill(std::span<std::uint8_t> bytes) {
        for (std::size_t i = 0; i < bytes.size(); i += 8) {
            const std::uint64_t word = random_.next();
            for (std::size_t j = i; j < std::min(i + 8, bytes.size()); ++j) {
                bytes[j] = static_cast<std::uint8_t>(word >> (j - i) * 8);
            }
        }
    }
    Method method() {
        constexpr Method kMethods[] = {
            Method::kGet,         Method::kSet,           Method::kSet,     Method::kTrap,
            Method::kTrapRepress, Method::kGetTable,      Method::kGetResp, Method::kReport,
            Method::kDelete,      Method::kGetTraceTable, Method::kGetMulti};
        return chance(1, 20) ? static_cast<Method>(byte()) : kMethods[below(std::size(kMethods))];
    }
    std::uint32_t modifier() {
        switch (below(4)) {
            case 0:
                return 0;
            case 1:
                return static_cast<std::uint32_t>(below(8));
            case 2:
                return static_cast<std::uint32_t>(below(8) << 16 | below(8) << 8 | below(8));
            default:
                return static_cast<std::uint32_t>(random_.next());
        }
    }
    Lid lid() {
        return chance(7, 8) ? plane_.lid(static_cast<std::uint32_t>(below(plane_.mesh.size())))
                            : Lid{static_cast<std::uint16_t>(random_.next())};
    }
    void header(wire::MadBytes& mad, MgmtClass mgmt_class, std::uint8_t version, Method m,
                std::uint16_t attribute) {
        wire::MadRepr repr;
        repr.mgmt_class = mgmt_class;
        repr.class_version = version;
        repr.method = m;
        // Small numbers too, as the requests that the manager has under way have.
        repr.transaction_id = chance(1, 2) ? random_.next() : below(64) << 16 | below(256);
        repr.attribute_id = attribute;
        repr.attribute_modifier = modifier();
        repr.emit(wire::Mad<std::uint8_t>(mad));
    }
    void subnet(wire::MadBytes& mad, MgmtClass mgmt_class) {
        constexpr SmAttribute kAttributes[] = {SmAttribute::kNotice,
                                               SmAttribute::kNodeDescription,
                                               SmAttribute::kNodeInfo,
                                               SmAttribute::kSwitchInfo,
                                               SmAttribute::kGuidInfo,
                                               SmAttribute::kPortInfo,
                                               SmAttribute::kPortInfo,
                                               SmAttribute::kPKeyTable,
                                               SmAttribute::kSlToVlMappingTable,
                                               SmAttribute::kVlArbitrationTable,
                                               SmAttribute::kLinearForwardingTable,
                                               SmAttribute::kRandomForwardingTable,
                                               SmAttribute::kMulticastForwardingTable,
                                               SmAttribute::kSmInfo,
                                               SmAttribute::kLedInfo,
                                               SmAttribute::kPortInfoExtended,
                                               SmAttribute::kPortSlToPrivateLftMap,
                                               SmAttribute::kAdaptiveRoutingInfo,
                                               SmAttribute::kArGroupTable,
                                               SmAttribute::kArLinearForwardingTable,
                                               SmAttribute::kMlnxExtendedPortInfo};
        const auto attribute =
            static_cast<std::uint16_t>(kAttributes[below(std::size(kAttributes))]);
        // Each trap causes a sweep, so only few are sent.
        Method m = method();
        if (m == Method::kTrap && !chance(1, 50)) {
            m = Method::kGet;
        }
        header(mad, mgmt_class, 1, m,
               chance(1, 20) ? static_cast<std::uint16_t>(random_.next()) : attribute);
        const wire::Smp<std::uint8_t> smp(mad);
        fill(smp.data());
        smp.set_mkey(chance(1, 2) ? mkey_ : random_.next());
        if (chance(1, 2)) {
            // The node's own PortInfo, with a few bytes changed.
            const agent::Node& node =
                plane_.mesh.node(static_cast<std::uint32_t>(below(plane_.mesh.size())));
            wire::emit(node.port(static_cast<std::uint8_t>(1 + below(node.port_count()))),
                       smp.data());
            smp.data()[below(wire::kSmpDataBytes)] = byte();
        }
    }
    void directed(wire::MadBytes& mad) {
        subnet(mad, MgmtClass::kSubnDirectedRoute);
        const wire::Smp<std::uint8_t> smp(mad);
        smp.set_hop_count(static_cast<std::uint8_t>(chance(1, 4) ? below(256) : below(6)));
        smp.set_hop_pointer(static_cast<std::uint8_t>(chance(1, 8)   ? below(256)
                                                      : chance(1, 4) ? below(6)
                                                                     : 0));
        smp.set_direction(chance(1, 6));
        smp.set_dr_slid(chance(1, 4) ? lid() : kLidPermissive);
        smp.set_dr_dlid(chance(1, 4) ? lid() : kLidPermissive);
        for (std::size_t i = 0; i < wire::kSmpPathBytes; ++i) {
            smp.initial_path()[i] =
                chance(1, 16) ? byte() : static_cast<std::uint8_t>(1 + below(4));
            smp.return_path()[i] = chance(1, 16) ? byte() : static_cast<std::uint8_t>(1 + below(4));
        }
    }
    void admin(wire::MadBytes& mad, bool by_rmpp) {
        constexpr std::uint16_t kAttributes[] = {0x01, 0x02, 0x03, 0x11, 0x12, 0x13, 0x14, 0x15,
                                                 0x16, 0x17, 0x18, 0x19, 0x1B, 0x20, 0x30, 0x31,
                                                 0x33, 0x35, 0x36, 0x38, 0x39, 0x3A, 0xF3, 0x3E};
        header(mad, MgmtClass::kSubnAdm, chance(1, 20) ? byte() : wire::kSaClassVersion, method(),
               chance(1, 20) ? static_cast<std::uint16_t>(random_.next())
                             : kAttributes[below(std::size(kAttributes))]);
        const wire::Sa<std::uint8_t> sa(mad);
        wire::SaHeader repr;
        repr.sm_key = chance(1, 8) ? random_.next() : 0;
        repr.attribute_offset = static_cast<std::uint16_t>(chance(1, 4) ? random_.next() : 0);
        repr.component_mask = chance(1, 3)   ? 0
                              : chance(1, 2) ? random_.next() & random_.next() & random_.next()
                                             : std::uint64_t{1} << below(64);
        sa.set_header(repr);
        fill(std::span(mad).subspan(wire::kSaDataOffset));
        if (chance(1, 2)) {
            // LIDs that exist, in the places where records have one.
            const std::uint16_t value = lid().value;
            for (const std::size_t at : {std::size_t{0}, std::size_t{40}, std::size_t{42}}) {
                wire::store_be(mad.data() + wire::kSaDataOffset + at, value);
            }
        }
        if (by_rmpp) {
            wire::RmppHeader rmpp;
            rmpp.rmpp_version = chance(1, 16) ? byte() : wire::kRmppVersion;
            rmpp.rmpp_type = static_cast<wire::RmppType>(chance(1, 16) ? below(256) : 1 + below(4));
            rmpp.rmpp_flags = static_cast<std::uint8_t>(chance(1, 8) ? below(8) : 1 + 2 * below(4));
            rmpp.rmpp_status = static_cast<wire::RmppStatus>(chance(1, 4) ? below(256) : 0);
            rmpp.segment_number =
                static_cast<std::uint32_t>(chance(1, 4) ? random_.next() : below(5));
            rmpp.payload_length =
                static_cast<std::uint32_t>(chance(1, 4) ? random_.next() : below(600));
            sa.set_rmpp(rmpp);
            // Now and then the MADs are segments of one message.
            wire::Mad<std::uint8_t>(mad).set_transaction_id(below(64));
        }
    }
    void service(wire::MadBytes& mad, MgmtClass mgmt_class, std::uint8_t version,
                 std::uint16_t first, std::uint16_t end) {
        header(mad, mgmt_class, version, method(),
               static_cast<std::uint16_t>(chance(1, 10) ? random_.next()
                                                        : first + below(end - first)));
        fill(std::span(mad).subspan(wire::kMadHeaderBytes));
        mad[64 + 1] = static_cast<std::uint8_t>(chance(1, 4) ? byte() : below(6));  // PortSelect
    }
    void aggregation(wire::MadBytes& mad) {
        constexpr std::uint16_t kAttributes[] = {0x01, 0x10, 0x20, 0x21, 0x22,
                                                 0x23, 0x24, 0x30, 0x40, 0x50};
        header(mad, MgmtClass::kSharp, chance(1, 20) ? byte() : wire::kSharpClassVersion, method(),
               chance(1, 20) ? static_cast<std::uint16_t>(random_.next())
                             : kAttributes[below(std::size(kAttributes))]);
        fill(std::span(mad).subspan(wire::kMadHeaderBytes));
        // Half of the bytes are zero, because small numbers are more often valid.
        for (std::uint8_t& each : wire::Sharp<std::uint8_t>(mad).data()) {
            each = chance(1, 2) ? std::uint8_t{0} : each;
        }
    }
    /// A trap about an event that did not happen.
    void trap(wire::MadBytes& mad) {
        constexpr std::uint16_t kTraps[] = {64, 65, 66, 67, 128, 129, 144, 145, 256, 257, 258, 259};
        header(mad, MgmtClass::kSubnLidRouted, 1, Method::kTrap,
               static_cast<std::uint16_t>(SmAttribute::kNotice));
        wire::Notice notice;
        fill(notice.data_details);
        notice.is_generic = !chance(1, 8);
        notice.trap_number = kTraps[below(std::size(kTraps))];
        notice.issuer_lid = chance(1, 50)
                                ? lid()
                                : plane_.lid(static_cast<std::uint32_t>(below(plane_.mesh.size())));
        wire::emit(notice, wire::Smp<std::uint8_t>(mad).data());
    }
    /// A MAD that only another subnet manager would send.
    void to_manager(wire::MadBytes& mad) {
        if (chance(1, 8)) {
            trap(mad);
            return;
        }
        subnet(mad, chance(1, 2) ? MgmtClass::kSubnLidRouted : MgmtClass::kSubnDirectedRoute);
        const wire::Mad<std::uint8_t> out(mad);
        out.set_attribute_id(static_cast<std::uint16_t>(SmAttribute::kSmInfo));
        out.set_attribute_modifier(static_cast<std::uint32_t>(below(7)));
        out.set_method(chance(1, 8) ? Method::kGet : Method::kSet);
        wire::SmInfo info;
        info.guid = Guid{random_.next()};
        info.sm_key = chance(1, 3) ? 0 : chance(1, 2) ? 1 : random_.next();
        info.priority = 15;
        info.sm_state = static_cast<wire::SmState>(below(4));
        wire::emit(info, wire::Smp<std::uint8_t>(mad).data());
    }
    void address(mad::Packet& packet) {
        const auto mgmt_class = wire::Mad<const std::uint8_t>(packet.mad).mgmt_class();
        const bool subnet_class =
            mgmt_class == MgmtClass::kSubnLidRouted || mgmt_class == MgmtClass::kSubnDirectedRoute;
        packet.dlid = mgmt_class == MgmtClass::kSubnDirectedRoute && !chance(1, 8) ? kLidPermissive
                      : chance(1, 3) ? plane_.lid(plane_.root)
                                     : lid();
        packet.slid = chance(1, 16) ? lid() : kLidUnassigned;
        packet.source = packet.destination = subnet_class ? mad::kQpnSubnet : mad::kQpnServices;
        packet.qkey = mad::kQKeyServices;
        if (chance(1, 30)) {
            packet.destination = Qpn{static_cast<std::uint32_t>(below(4))};
            packet.source = Qpn{static_cast<std::uint32_t>(random_.next() & 0xFFFFFF)};
        }
        if (chance(1, 60)) {
            packet.qkey = QKey{static_cast<std::uint32_t>(random_.next())};
        }
        if (chance(1, 60)) {
            packet.pkey = PKey{static_cast<std::uint16_t>(random_.next())};
        }
        packet.sl = static_cast<std::uint8_t>(below(16));
    }

    Plane& plane_;
    Prng random_;
    std::uint64_t mkey_;
};

void flood(Plane& plane, Generator& generator, std::uint64_t mads) {
    constexpr std::uint64_t kBurst = 32;
    constexpr std::uint64_t kSweep = 5000;
    constexpr std::uint64_t kStepNs = 2'000'000;
    for (std::uint64_t i = 0; i < mads; ++i) {
        const Generator::Shot shot = generator.next();
        plane.mesh.send(shot.from, shot.packet, plane.now_ns);
        if (i % kSweep == 0) {
            plane.manager.resweep(plane.now_ns);
        }
        // During a sweep the packets come between those of the sweep.
        if (i % kSweep < kSweep / 10) {
            plane.step();
        } else if (i % kBurst == 0) {
            plane.drive();
            plane.wait(kStepNs);
        }
    }
    plane.drive();
}

void expect_all_pairs(const agent::Mesh& mesh) {
    for (std::uint32_t a = 0; a < mesh.size(); ++a) {
        for (std::uint32_t b = 0; b < mesh.size(); ++b) {
            if (!mesh.node(a).is_switch() && !mesh.node(b).is_switch()) {
                const auto end = mesh.route({a, 1}, mesh.node(b).port(1).lid, false);
                ASSERT_TRUE(end && end->node == b) << a << " to " << b;
            }
        }
    }
}

std::vector<NodeState> state_of(Plane& plane) {
    std::vector<NodeState> all;
    for (std::uint32_t i = 0; i < plane.mesh.size(); ++i) {
        all.push_back(read_state(plane.mesh.node(i), kMKey, kCcKey, plane.now_ns));
    }
    return all;
}

/// Gives a switch's aggregation node a key and queue pairs, which an attacker could free.
void protect_aggregation(agent::Node& node) {
    wire::MadBytes mad{};
    wire::MadRepr header;
    header.mgmt_class = MgmtClass::kSharp;
    header.class_version = wire::kSharpClassVersion;
    header.method = Method::kSet;
    header.attribute_id = static_cast<std::uint16_t>(wire::SharpAttribute::kQpAllocation);
    header.emit(wire::Mad<std::uint8_t>(mad));
    wire::SharpQpAllocation some;
    some.op = wire::SharpQpAllocation::Op::kAllocate;
    some.count = 8;
    wire::emit(some, wire::Sharp<std::uint8_t>(mad).data());
    ASSERT_TRUE(node.receive_aggregation(mad));
    ASSERT_EQ(node.aggregation()->qp_count(), 8U);
    wire::Mad<std::uint8_t>(mad).set_attribute_id(
        static_cast<std::uint16_t>(wire::SharpAttribute::kAmKeyInfo));
    wire::emit(wire::SharpAmKeyInfo{.am_key = kAmKey}, wire::Sharp<std::uint8_t>(mad).data());
    ASSERT_TRUE(node.receive_aggregation(mad));
}

std::vector<sharp::AggregationTables> aggregation_of(const agent::Mesh& mesh) {
    std::vector<sharp::AggregationTables> all;
    for (std::uint32_t i = 0; i < mesh.size(); ++i) {
        if (const auto* const tables = mesh.node(i).aggregation()) {
            all.push_back(*tables);
        }
    }
    return all;
}

/// A program on a node sends the SA a valid request.
bool admin_answers(Plane& plane) {
    std::vector<std::uint8_t> request(wire::kMadBytes);
    wire::MadBytes mad{};
    wire::MadRepr header;
    header.mgmt_class = MgmtClass::kSubnAdm;
    header.class_version = wire::kSaClassVersion;
    header.method = Method::kGet;
    header.transaction_id = 0x1234567;
    header.attribute_id = static_cast<std::uint16_t>(wire::SaAttribute::kClassPortInfo);
    header.emit(wire::Mad<std::uint8_t>(mad));
    std::ranges::copy(mad, request.begin());
    const auto answer = plane.service.admin().handle(request, plane.lid(1), Qpn{1}, plane.now_ns);
    return answer && answer->size() == wire::kMadBytes && (*answer)[4] == 0 && (*answer)[5] == 0;
}

TEST(MalformedMads, ChangeNothingWithoutAKey) {
    ManagerConfig config;
    config.mkey = kMKey;
    config.mkey_protect_bits = 1;
    config.sm_key = kSmKey;
    Plane plane(fat_tree(4, 4), config);
    ASSERT_TRUE(plane.manager.settled());
    for (std::uint32_t i = 0; i < plane.mesh.size(); ++i) {
        wire::MadBytes mad = make_cc(Method::kSet, wire::CcAttribute::kCongestionKeyInfo, 0, 0);
        wire::CongestionKeyInfo info;
        info.cc_key = kCcKey;
        info.cc_key_protect_bit = true;
        wire::emit(info, wire::Cc<std::uint8_t>(mad).data());
        ASSERT_TRUE(plane.mesh.node(i).receive_congestion(mad, 1, plane.now_ns));
        if (plane.mesh.node(i).is_switch()) {
            protect_aggregation(plane.mesh.node(i));
        }
    }
    const auto before = state_of(plane);
    const auto aggregation_before = aggregation_of(plane.mesh);
    ASSERT_FALSE(aggregation_before.empty());
    const auto lids = plane.manager.lids();
    const std::uint64_t seed = from_environment("SOFTIB_SEED", kSeedDefault);
    Generator generator(plane, seed, 0);
    flood(plane, generator, from_environment("SOFTIB_MADS", kMadsDefault) * 4 / 5);
    // Exchanges with peers that never answer end, and the manager has nothing left to do.
    plane.wait(120'000'000'000);
    EXPECT_TRUE(plane.manager.settled());
    EXPECT_EQ(plane.manager.state(), wire::SmState::kMaster);
    EXPECT_EQ(plane.manager.lids(), lids);
    EXPECT_TRUE(state_of(plane) == before) << "seed " << seed;
    EXPECT_TRUE(aggregation_of(plane.mesh) == aggregation_before) << "seed " << seed;
    expect_all_pairs(plane.mesh);
    EXPECT_EQ(plane.service.transfers(), 0U);
    EXPECT_EQ(plane.program.transfers(), 0U);
    EXPECT_TRUE(admin_answers(plane));
    EXPECT_GT(plane.mesh.node(0).port(1).mkey_violations, 0) << "none of them got anywhere";
    EXPECT_GT(plane.mesh.node(0).port(1).pkey_violations, 0);
}

/// Without keys nodes accept every Set: still nothing breaks, and nodes that are turned off and on
/// work as before.
TEST(MalformedMads, BreakNothingWhereNothingIsProtected) {
    Plane plane(fat_tree(4, 4), {});
    const std::uint64_t seed = from_environment("SOFTIB_SEED", kSeedDefault);
    Generator generator(plane, seed, 0);
    const std::uint64_t mads = from_environment("SOFTIB_MADS", kMadsDefault) / 5;
    constexpr std::uint64_t kRounds = effort(200, 40);
    for (std::uint64_t round = 0; round < kRounds; ++round) {
        flood(plane, generator, mads / kRounds);
        plane.manager.stop();
        for (std::uint32_t i = 0; i < plane.mesh.size(); ++i) {
            plane.mesh.set_powered(i, false);
            plane.mesh.set_powered(i, true);
        }
        plane.manager.start(plane.now_ns);
        plane.wait(120'000'000'000);
        ASSERT_TRUE(plane.manager.settled()) << "seed " << seed << ", round " << round;
        ASSERT_EQ(plane.manager.state(), wire::SmState::kMaster);
        expect_all_pairs(plane.mesh);
        if (HasFatalFailure()) {
            FAIL() << "seed " << seed << ", round " << round;
        }
    }
    EXPECT_TRUE(admin_answers(plane));
}

}  // namespace
}  // namespace softib::sm
