// SPDX-License-Identifier: BSD-2-Clause
#include "core/sm/sa/path_records.h"

#include <gtest/gtest.h>

#include "core/sm/sa/codes.h"
#include "core/sm/sa/test_subnet.h"
#include "core/topo/link_speed.h"
#include "core/wire/sa/mc_member_record.h"
#include "core/wire/sa/multi_path_record.h"
#include "core/wire/sa/trace_record.h"

namespace softib::sm {

using test::Answer;
using test::Client;
using wire::component;
using wire::Method;
using wire::PathRecord;
using wire::SaAttribute;
using wire::Selector;
namespace status = wire::mad_status;
namespace sa_status = wire::sa_status;

namespace {

namespace pr {
constexpr std::uint64_t kDgid = component(&PathRecord::dgid);
constexpr std::uint64_t kSgid = component(&PathRecord::sgid);
constexpr std::uint64_t kDlid = component(&PathRecord::dlid);
constexpr std::uint64_t kSlid = component(&PathRecord::slid);
constexpr std::uint64_t kNumbPath = component(&PathRecord::numb_path);
constexpr std::uint64_t kPKey = component(&PathRecord::pkey);
constexpr std::uint64_t kSl = component(&PathRecord::sl);
constexpr std::uint64_t kReversible = component(&PathRecord::reversible);
constexpr std::uint64_t kMtu = component(&PathRecord::mtu) | component(&PathRecord::mtu_selector);
constexpr std::uint64_t kRate =
    component(&PathRecord::rate) | component(&PathRecord::rate_selector);
constexpr std::uint64_t kLife =
    component(&PathRecord::packet_life_time) | component(&PathRecord::packet_life_time_selector);
}  // namespace pr

constexpr std::uint8_t kRate200 = 17;
constexpr std::uint8_t kRate100 = 16;
constexpr std::uint8_t kRate168 = 14;
constexpr std::uint8_t kRate56 = 12;

}  // namespace

/// Hosts 0 to 2 on one leaf and 3 to 5 on another, and two spines.
struct PathRecordsTest : testing::Test {
    test::TreeSubnet tree{2, 3, 2};
    SubnetAdmin sa{tree.subnet, {.sm_key = 77}};
    Client client{sa, tree.lid_of_host(0)};

    PathRecord between(std::uint32_t from, std::uint32_t to) const {
        return {.dgid = tree.gid_of_host(to),
                .sgid = tree.gid_of_host(from),
                .dlid = tree.lid_of_host(to),
                .slid = tree.lid_of_host(from)};
    }
    Answer get(std::uint64_t components, const PathRecord& asked) {
        return client.get(SaAttribute::kPathRecord, components, asked);
    }
    std::optional<PathRecord> path(std::uint64_t components, const PathRecord& asked) {
        const Answer answer = get(components, asked);
        if (answer.status != status::kOk) {
            return std::nullopt;
        }
        return answer.records<PathRecord>().at(0);
    }
    std::vector<PathRecord> table(std::uint64_t components, const PathRecord& asked) {
        return client.table<PathRecord>(SaAttribute::kPathRecord, components, asked);
    }
};

TEST_F(PathRecordsTest, ByLids) {
    const auto found = path(pr::kSlid | pr::kDlid, between(0, 4));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->sgid, tree.gid_of_host(0));
    EXPECT_EQ(found->dgid, tree.gid_of_host(4));
    EXPECT_EQ(found->mtu, wire::mtu_code::k4096);
    EXPECT_EQ(found->mtu_selector, Selector::kExactly);
    EXPECT_EQ(found->rate, kRate200);
    EXPECT_EQ(found->packet_life_time, 18);
    EXPECT_EQ(found->pkey, kPKeyDefaultFull);
    EXPECT_EQ(found->hop_limit, 0);
    EXPECT_EQ(found->sl, 0);
    EXPECT_TRUE(found->reversible);
    EXPECT_EQ(found->numb_path, 0);
}

TEST_F(PathRecordsTest, ByGidsOrByBoth) {
    EXPECT_EQ(path(pr::kSgid | pr::kDgid, between(1, 5))->dlid, tree.lid_of_host(5));
    EXPECT_EQ(path(pr::kSgid | pr::kDlid, between(1, 5))->slid, tree.lid_of_host(1));
    const std::uint64_t all = pr::kSgid | pr::kDgid | pr::kSlid | pr::kDlid;
    EXPECT_TRUE(path(all, between(1, 5)));
    PathRecord wrong = between(1, 5);
    wrong.dlid = tree.lid_of_host(4);
    EXPECT_EQ(get(all, wrong).status, sa_status::kRequestInvalid);
    // Switches have paths too.
    wrong.dlid = tree.lid(tree.spine(1));
    EXPECT_TRUE(path(pr::kSlid | pr::kDlid, wrong));
}

TEST_F(PathRecordsTest, NobodyThereIsNoPath) {
    PathRecord asked = between(0, 4);
    asked.dlid = Lid{4000};
    EXPECT_EQ(get(pr::kSlid | pr::kDlid, asked).status, sa_status::kNoRecords);
    asked.dlid = Lid{0xFFFF};
    EXPECT_EQ(get(pr::kSlid | pr::kDlid, asked).status, sa_status::kNoRecords);
    asked.dgid = Gid::from(kSubnetPrefixDefault, Guid{0x999});
    EXPECT_EQ(get(pr::kSgid | pr::kDgid, asked).status, sa_status::kNoRecords);
    asked.dgid = Gid::from(0x1234, tree.subnet.port(tree.host(4)).guid);  // Another subnet's.
    EXPECT_EQ(get(pr::kSgid | pr::kDgid, asked).status, sa_status::kNoRecords);
    asked.sgid.bytes[0] = 0xFF;
    EXPECT_EQ(get(pr::kSgid | pr::kDlid, asked).status, sa_status::kInvalidGid);
}

TEST_F(PathRecordsTest, ExistsOnlyAsTheTablesSay) {
    const PathRecord asked = between(0, 4);
    SubnetNode& leaf = tree.subnet.node(tree.leaf(0).node);
    const std::uint8_t right = leaf.lft[asked.dlid.value];
    leaf.lft[asked.dlid.value] = kLftNoPath;
    EXPECT_FALSE(path(pr::kSlid | pr::kDlid, asked));
    leaf.lft[asked.dlid.value] = 2;  // Leads to host 1, which does not have this LID.
    EXPECT_FALSE(path(pr::kSlid | pr::kDlid, asked));
    leaf.lft[asked.dlid.value] = right;
    EXPECT_TRUE(path(pr::kSlid | pr::kDlid, asked));
    // A loop in the tables does not hang the SA.
    SubnetNode& spine = tree.subnet.node(tree.subnet.port({tree.leaf(0).node, right}).peer);
    spine.lft[asked.dlid.value] = 1;
    EXPECT_FALSE(path(pr::kSlid | pr::kDlid, asked));
}

TEST_F(PathRecordsTest, MtuAndRateAreTheLeastOnTheWay) {
    tree.set_link(tree.host(4), wire::mtu_code::k2048, wire::link_width::k4x,
                  wire::link_speed_ext::kEdr);
    const auto found = path(pr::kSlid | pr::kDlid, between(0, 4));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->mtu, wire::mtu_code::k2048);
    EXPECT_EQ(found->rate, kRate100);
    EXPECT_EQ(path(pr::kSlid | pr::kDlid, between(4, 0))->rate, kRate100);
    EXPECT_EQ(path(pr::kSlid | pr::kDlid, between(0, 5))->rate, kRate200);
    // Rates are not compared by code: 1X EDR (15) is slower than 4X FDR (12).
    const auto uplink = tree.subnet.forward(tree.leaf(0).node, tree.lid_of_host(4));
    tree.set_link({tree.leaf(0).node, uplink}, wire::mtu_code::k4096, wire::link_width::k4x,
                  wire::link_speed_ext::kFdr);
    EXPECT_EQ(path(pr::kSlid | pr::kDlid, between(0, 4))->rate, kRate56);
}

TEST(RateCodes, EachGenerationAndWidthHasTheCodeOfItsRate) {
    const auto code = [](topo::Generation generation, topo::Width width) {
        const topo::GenerationRow& row = topo::row_of(generation);
        return int{rate_of({.link_width_active = static_cast<std::uint8_t>(width),
                            .link_speed_active = row.speed,
                            .link_speed_ext_active2 = row.speed_ext2,
                            .link_speed_ext_active = row.speed_ext})};
    };
    using enum topo::Generation;
    using enum topo::Width;
    EXPECT_EQ(code(kSdr, k1x), 2);
    EXPECT_EQ(code(kSdr, k4x), 3);
    EXPECT_EQ(code(kDdr, k4x), 6);
    EXPECT_EQ(code(kQdr, k4x), 7);
    EXPECT_EQ(code(kQdr, k12x), 10);
    EXPECT_EQ(code(kFdr, k4x), 12);
    EXPECT_EQ(code(kEdr, k1x), 15);
    EXPECT_EQ(code(kHdr, k2x), 16);
    EXPECT_EQ(code(kNdr, k4x), 21);
    EXPECT_EQ(code(kXdr, k4x), 23);
    EXPECT_EQ(code(kXdr, k8x), 25) << "1,600 Gb/s, of IBA 1.8";
    EXPECT_EQ(code(kGdr, k4x), 25);
    EXPECT_EQ(code(kGdr, k12x), 25) << "no code is above it";
    EXPECT_EQ(rate_of({}), 0) << "a link that is down";
    EXPECT_LT(rank_of(Quantity::kRate, 24), rank_of(Quantity::kRate, 25));
    EXPECT_EQ(rate_tenths(25), 16'000U);
}

TEST_F(PathRecordsTest, SelectorsCompare) {
    const std::uint64_t ends = pr::kSlid | pr::kDlid;
    const auto mtu = [&](Selector selector, std::uint8_t value) {
        PathRecord asked = between(0, 4);
        asked.mtu_selector = selector;
        asked.mtu = value;
        const auto found = path(ends | pr::kMtu, asked);
        return found ? int{found->mtu} : -1;
    };
    EXPECT_EQ(mtu(Selector::kGreaterThan, 4), 5);
    EXPECT_EQ(mtu(Selector::kGreaterThan, 5), -1);
    EXPECT_EQ(mtu(Selector::kLessThan, 5), 4);  // Smaller packets fit as well.
    EXPECT_EQ(mtu(Selector::kLessThan, 1), -1);
    EXPECT_EQ(mtu(Selector::kExactly, 3), 3);
    EXPECT_EQ(mtu(Selector::kBest, 1), 5);
    const auto rate = [&](Selector selector, std::uint8_t value) {
        PathRecord asked = between(0, 4);
        asked.rate_selector = selector;
        asked.rate = value;
        const auto found = path(ends | pr::kRate, asked);
        return found ? int{found->rate} : -1;
    };
    EXPECT_EQ(rate(Selector::kGreaterThan, kRate100), kRate200);
    EXPECT_EQ(rate(Selector::kGreaterThan, kRate200), -1);
    EXPECT_EQ(rate(Selector::kLessThan, kRate200), kRate168);
    EXPECT_EQ(rate(Selector::kLessThan, 2), -1);
    EXPECT_EQ(rate(Selector::kExactly, kRate200), kRate200);
    EXPECT_EQ(rate(Selector::kExactly, kRate100), -1);
    EXPECT_EQ(rate(Selector::kBest, kRate100), kRate200);
    const auto life = [&](Selector selector, std::uint8_t value) {
        PathRecord asked = between(0, 4);
        asked.packet_life_time_selector = selector;
        asked.packet_life_time = value;
        return path(ends | pr::kLife, asked).has_value();
    };
    EXPECT_TRUE(life(Selector::kGreaterThan, 17));
    EXPECT_FALSE(life(Selector::kLessThan, 18));
    EXPECT_TRUE(life(Selector::kExactly, 18));
    EXPECT_TRUE(life(Selector::kBest, 3));
}

TEST_F(PathRecordsTest, SelectorAloneSaysNothing) {
    PathRecord asked = between(0, 4);
    asked.mtu_selector = Selector::kGreaterThan;
    asked.mtu = 5;
    EXPECT_TRUE(path(pr::kSlid | pr::kDlid | component(&PathRecord::mtu), asked));
    EXPECT_TRUE(path(pr::kSlid | pr::kDlid | component(&PathRecord::mtu_selector), asked));
}

TEST_F(PathRecordsTest, CodesThatDoNotExistAreInvalid) {
    PathRecord asked = between(0, 4);
    asked.mtu = 6;
    EXPECT_EQ(get(pr::kSlid | pr::kDlid | pr::kMtu, asked).status, sa_status::kRequestInvalid);
    asked.rate = 1;
    EXPECT_EQ(get(pr::kSlid | pr::kDlid | pr::kRate, asked).status, sa_status::kRequestInvalid);
    EXPECT_EQ(get(pr::kSlid | pr::kDlid | 1, asked).status,
              sa_status::kInsufficientComponents);  // One of the two bits of ServiceID.
}

TEST_F(PathRecordsTest, BothEndsShareThePartition) {
    constexpr PKey kFull{0x8123};
    constexpr PKey kLimited{0x0123};
    tree.subnet.port(tree.host(0)).pkeys = {kPKeyDefaultFull, kLimited};
    tree.subnet.port(tree.host(4)).pkeys = {kPKeyDefaultFull, kFull};
    tree.subnet.port(tree.host(5)).pkeys = {PKey{0x7FFF}, kLimited};
    PathRecord asked = between(0, 4);
    asked.pkey = kFull;
    const std::uint64_t ends = pr::kSlid | pr::kDlid;
    EXPECT_EQ(path(ends | pr::kPKey, asked)->pkey, kFull);
    asked.pkey = PKey{0x8555};
    EXPECT_FALSE(path(ends | pr::kPKey, asked));
    asked = between(0, 5);
    asked.pkey = kFull;  // Limited members cannot talk to each other.
    EXPECT_FALSE(path(ends | pr::kPKey, asked));
    EXPECT_EQ(path(ends, asked)->pkey, kPKeyDefaultFull);
    tree.subnet.port(tree.host(5)).pkeys = {PKey{0x8777}};
    EXPECT_FALSE(path(ends, between(0, 5)));
    // A requester that shares a partition with neither port gets no record, unless it is trusted.
    tree.subnet.port(tree.host(0)).pkeys = {PKey{0x8777}};
    EXPECT_FALSE(path(ends, between(1, 4)));
    client.sm_key = 77;
    EXPECT_TRUE(path(ends, between(1, 4)));
}

TEST_F(PathRecordsTest, ServiceLevelIsTheOneOfRouting) {
    SubnetAdmin routed(tree.subnet,
                       {.paths = {.sl = [](Lid from, Lid to, std::uint8_t) {
                            return static_cast<std::uint8_t>(from.value < to.value ? 2 : 3);
                        }}});
    Client asker{routed, tree.lid_of_host(0)};
    PathRecord asked = between(0, 4);
    const auto sl = [&](std::uint64_t more) {
        const Answer answer =
            asker.get(SaAttribute::kPathRecord, pr::kSlid | pr::kDlid | more, asked);
        return answer.status == status::kOk ? int{answer.records<PathRecord>().at(0).sl} : -1;
    };
    EXPECT_EQ(sl(0), 2);
    asked.sl = 2;
    EXPECT_EQ(sl(pr::kSl), 2);
    asked.sl = 4;
    EXPECT_EQ(sl(pr::kSl), -1);
    EXPECT_EQ(path(pr::kSlid | pr::kDlid | pr::kSl, asked)->sl, 4);  // Routing needs no certain SL.
}

TEST_F(PathRecordsTest, LevelsThatAreDroppedLeadNowhere) {
    auto& mapping = tree.subnet.node(tree.leaf(1).node).sl2vl;
    mapping.resize(6, std::vector<wire::SlToVlMappingTable>(6));
    for (auto& in : mapping[2]) {  // Port 2 leads to host 4.
        in.vl[5] = wire::kVlDrop;
    }
    PathRecord asked = between(0, 4);
    asked.sl = 5;
    EXPECT_FALSE(path(pr::kSlid | pr::kDlid | pr::kSl, asked));
    asked.sl = 4;
    EXPECT_TRUE(path(pr::kSlid | pr::kDlid | pr::kSl, asked));
}

TEST_F(PathRecordsTest, ReversibleNeedsAWayBack) {
    tree.subnet.node(tree.leaf(1).node).lft[tree.lid_of_host(0).value] = kLftNoPath;
    PathRecord asked = between(0, 4);
    const auto found = path(pr::kSlid | pr::kDlid, asked);
    ASSERT_TRUE(found);
    EXPECT_FALSE(found->reversible);
    EXPECT_TRUE(path(pr::kSlid | pr::kDlid | pr::kReversible, asked));  // Zero allows both.
    asked.reversible = true;
    EXPECT_FALSE(path(pr::kSlid | pr::kDlid | pr::kReversible, asked));
}

TEST_F(PathRecordsTest, LoopbackTakesNoTime) {
    const auto found = path(pr::kSlid | pr::kDlid, between(2, 2));
    ASSERT_TRUE(found);
    EXPECT_EQ(found->packet_life_time, 0);
    EXPECT_EQ(found->rate, kRate200);
    EXPECT_TRUE(found->reversible);
}

TEST_F(PathRecordsTest, WildcardsGiveAllThereAre) {
    EXPECT_EQ(table(0, {}).size(), 100U);  // From each of ten end ports to all ten.
    EXPECT_EQ(table(pr::kSlid, between(0, 0)).size(), 10U);
    EXPECT_EQ(table(pr::kDgid, between(0, 3)).size(), 10U);
    EXPECT_EQ(get(pr::kSlid, between(0, 0)).status, sa_status::kTooManyRecords);
    PathRecord asked = between(0, 3);
    asked.numb_path = 0;
    EXPECT_TRUE(table(pr::kSlid | pr::kNumbPath, asked).empty());
    // SubnAdmGet returns one path, whatever NumbPath says.
    EXPECT_TRUE(path(pr::kSlid | pr::kDlid | pr::kNumbPath, asked));
}

TEST_F(PathRecordsTest, LmcGivesSeveralPaths) {
    test::TreeSubnet lmc1(2, 2, 2, 1);
    SubnetAdmin admin(lmc1.subnet, {});
    Client asker{admin, lmc1.lid_of_host(0)};
    PathRecord asked{.dgid = lmc1.gid_of_host(3),
                     .sgid = lmc1.gid_of_host(0),
                     .dlid = lmc1.lid_of_host(3),
                     .numb_path = 3};
    const std::uint64_t ends = pr::kSgid | pr::kDgid;
    const auto all = asker.table<PathRecord>(SaAttribute::kPathRecord, ends, asked);
    ASSERT_EQ(all.size(), 4U);
    // The first two paths have no LID in common.
    EXPECT_NE(all[0].slid, all[1].slid);
    EXPECT_NE(all[0].dlid, all[1].dlid);
    EXPECT_EQ(all[1].preference, 0);
    EXPECT_EQ(all[2].preference, 2);
    EXPECT_EQ(asker.table<PathRecord>(SaAttribute::kPathRecord, ends | pr::kNumbPath, asked).size(),
              3U);
    asked.dlid.value += 1;
    const auto fixed = asker.table<PathRecord>(SaAttribute::kPathRecord, ends | pr::kDlid, asked);
    ASSERT_EQ(fixed.size(), 2U);
    EXPECT_EQ(fixed[0].dlid, asked.dlid);
    EXPECT_EQ(asker.get(SaAttribute::kPathRecord, ends, asked).status, status::kOk);
}

TEST_F(PathRecordsTest, ByAliasGuid) {
    sa.guids().restore(tree.subnet.port(tree.host(4)).guid, {Guid{}, Guid{0xAAAA}});
    PathRecord asked = between(0, 4);
    asked.dgid = Gid::from(kSubnetPrefixDefault, Guid{0xAAAA});
    const auto found = path(pr::kSgid | pr::kDgid, asked);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->dlid, tree.lid_of_host(4));
    EXPECT_EQ(found->dgid, asked.dgid);
}

TEST_F(PathRecordsTest, ToAMulticastGroup) {
    namespace mc = wire::mc_member;
    wire::McMemberRecord group{.port_gid = tree.gid_of_host(0),
                               .qkey = QKey{1},
                               .pkey = kPKeyDefaultFull,
                               .sl = 3,
                               .join_state = wire::kJoinFullMember};
    group.mgid.bytes = {0xFF, 0x12, 0x40, 0x1B, 0xFF, 0xFF, 0,    0,
                        0,    0,    0,    0,    0xFF, 0xFF, 0xFF, 0xFF};
    ASSERT_EQ(client
                  .ask(Method::kSet, SaAttribute::kMcMemberRecord,
                       mc::kMgid | mc::kPortGid | mc::kQKey | mc::kPKey | mc::kTClass | mc::kSl |
                           mc::kFlowLabel | mc::kJoinState,
                       group)
                  .status,
              status::kOk);
    PathRecord asked = between(0, 0);
    asked.dgid = group.mgid;
    const auto found = path(pr::kSgid | pr::kDgid, asked);
    ASSERT_TRUE(found);
    EXPECT_EQ(found->dlid, Lid{0xC000});
    EXPECT_EQ(found->sl, 3);
    EXPECT_EQ(found->rate, kRate200);
    EXPECT_FALSE(found->reversible);
    asked.dlid = Lid{0xC000};
    EXPECT_EQ(path(pr::kSlid | pr::kDlid, asked)->dgid, group.mgid);
    // Paths between other ports give no record.
    asked.sgid = tree.gid_of_host(1);
    EXPECT_EQ(get(pr::kSgid | pr::kDgid, asked).status, sa_status::kNoRecords);
    asked.dgid.bytes[15] = 0;
    EXPECT_EQ(get(pr::kDgid, asked).status, sa_status::kNoRecords);
    EXPECT_EQ(table(pr::kDgid, asked).size(), 0U);
    tree.subnet.port(tree.host(0)).pkeys = {PKey{0x8777}};
    asked.dgid = group.mgid;
    EXPECT_EQ(get(pr::kDgid, asked).status, sa_status::kNoRecords);
}

namespace {

constexpr std::uint64_t kCounts =
    component(&wire::MultiPathRecord::sgid_count) | component(&wire::MultiPathRecord::dgid_count);

std::vector<std::uint8_t> multi_path(const wire::MultiPathRecord& record,
                                     const std::vector<Gid>& gids) {
    std::vector<std::uint8_t> bytes(wire::MultiPathRecord::kBytes);
    wire::emit(record, std::span(bytes));
    for (const Gid& gid : gids) {
        bytes.insert(bytes.end(), gid.bytes.begin(), gid.bytes.end());
    }
    return bytes;
}

}  // namespace

TEST_F(PathRecordsTest, MultiPathBetweenTwoSets) {
    const wire::MultiPathRecord record{.sgid_count = 2, .dgid_count = 2};
    const std::vector<Gid> gids = {tree.gid_of_host(0), tree.gid_of_host(1), tree.gid_of_host(4),
                                   tree.gid_of_host(5)};
    const auto ask = [&](std::uint64_t components, const wire::MultiPathRecord& r) {
        return client.ask(Method::kGetMulti, SaAttribute::kMultiPathRecord, components,
                          multi_path(r, gids));
    };
    const Answer all = ask(kCounts, record);
    ASSERT_EQ(all.status, status::kOk);
    EXPECT_EQ(all.mad.method, static_cast<Method>(0x94));
    EXPECT_EQ(all.mad.attribute_id, 0x35);
    EXPECT_EQ(all.rmpp.rmpp_flags, wire::rmpp_flag::kActive);
    EXPECT_EQ(all.records<PathRecord>().size(), 4U);
    wire::MultiPathRecord two = record;
    two.numb_path = 2;
    const auto first =
        ask(kCounts | component(&wire::MultiPathRecord::numb_path), two).records<PathRecord>();
    ASSERT_EQ(first.size(), 2U);
    EXPECT_NE(first[0].sgid, first[1].sgid);
    EXPECT_NE(first[0].dgid, first[1].dgid);
}

TEST_F(PathRecordsTest, MultiPathNeedsBothSets) {
    const Gid own = tree.gid_of_host(0);
    Gid group;
    group.bytes[0] = 0xFF;
    const auto status_of = [&](std::uint64_t components, const wire::MultiPathRecord& record,
                               const std::vector<Gid>& gids) {
        return client
            .ask(Method::kGetMulti, SaAttribute::kMultiPathRecord, components,
                 multi_path(record, gids))
            .status;
    };
    EXPECT_EQ(status_of(0, {}, {}), sa_status::kInsufficientComponents);
    EXPECT_EQ(status_of(component(&wire::MultiPathRecord::sgid_count), {.sgid_count = 1}, {own}),
              sa_status::kInsufficientComponents);
    EXPECT_EQ(status_of(kCounts, {.sgid_count = 1, .dgid_count = 1}, {own, group}),
              sa_status::kInvalidGid);
    EXPECT_EQ(status_of(kCounts, {.sgid_count = 1, .dgid_count = 1}, {group, own}),
              sa_status::kInvalidGid);
    EXPECT_EQ(status_of(kCounts, {.sgid_count = 200, .dgid_count = 1}, {own, own}),
              status::kInvalidField);
    EXPECT_EQ(status_of(kCounts, {.sgid_count = 1, .dgid_count = 1}, {own, own}), status::kOk);
}

TEST_F(PathRecordsTest, TraceShowsEveryNode) {
    const Answer answer = client.ask(Method::kGetTraceTable, SaAttribute::kTraceRecord,
                                     pr::kSlid | pr::kDlid, between(0, 4));
    ASSERT_EQ(answer.status, status::kOk);
    EXPECT_EQ(answer.mad.attribute_id, 0x39);
    const auto hops = answer.records<wire::TraceRecord>();
    ASSERT_EQ(hops.size(), 5U);
    EXPECT_EQ(hops[0].exit_port, PortNum{1});
    EXPECT_EQ(hops[1].node_id, test::kSwitchGuid);
    EXPECT_EQ(hops[1].entry_port, PortNum{1});
    EXPECT_EQ(hops[3].exit_port, PortNum{2});
    EXPECT_EQ(hops[4].node_id, test::kHostGuid + 0x40);
    EXPECT_EQ(hops[4].entry_port, PortNum{1});
    EXPECT_EQ(client.ask(Method::kGetTraceTable, SaAttribute::kTraceRecord, 0, PathRecord{}).status,
              sa_status::kInsufficientComponents);
}

}  // namespace softib::sm
