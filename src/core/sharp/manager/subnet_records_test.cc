// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/manager/subnet_records.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/base/prng.h"
#include "core/sharp/manager/subnet_reader.h"
#include "core/sharp/manager/test_records.h"
#include "core/topo/spec.h"

namespace softib::sharp {
namespace {

topo::Spec tree() {
    return {.shape = topo::Shape::kFatTree, .hosts = 54, .radix = 6, .levels = 3};
}

/// Expects two routed fabrics to be equal in what trees depend on.
void expect_same(const RoutedSubnet& got, const routing::Graph& graph, const routing::Lfts& lfts) {
    ASSERT_EQ(got.graph.switch_count(), graph.switch_count());
    ASSERT_EQ(got.graph.targets().size(), graph.targets().size());
    ASSERT_EQ(got.graph.links().size(), graph.links().size());
    for (const routing::Target& target : graph.targets()) {
        const std::uint32_t index = got.graph.target_of(target.lid);
        ASSERT_NE(index, routing::kNone);
        const routing::Target& read = got.graph.targets()[index];
        EXPECT_EQ(got.graph.guid(read.at), graph.guid(target.at));
        EXPECT_EQ(read.port, target.port);
        if (!target.is_switch()) {
            continue;
        }
        for (const routing::Target& from : graph.targets()) {
            if (from.is_switch()) {
                const std::uint32_t at = got.graph.targets()[got.graph.target_of(from.lid)].at;
                EXPECT_EQ(got.lfts.at(at, target.lid), lfts.at(from.at, target.lid));
            }
        }
    }
}

TEST(SharpSubnetRecords, MakeTheFabricThatTheyTellOf) {
    TestSa sa(tree());
    const auto subnet = join_records(sa.records());
    ASSERT_TRUE(subnet) << subnet.error();
    expect_same(*subnet, sa.graph(), sa.lfts());
}

TEST(SharpSubnetRecords, TheirOrderDoesNotMatter) {
    TestSa sa(tree());
    SubnetRecords mixed = sa.records();
    Prng prng(1);
    const auto shuffle = [&](auto& records) {
        for (std::size_t i = records.size(); i > 1; --i) {
            std::swap(records[i - 1], records[prng.below(i)]);
        }
    };
    shuffle(mixed.nodes);
    shuffle(mixed.links);
    shuffle(mixed.tables);
    const auto a = join_records(sa.records());
    const auto b = join_records(mixed);
    ASSERT_TRUE(a && b);
    for (std::uint32_t sw = 0; sw < a->graph.switch_count(); ++sw) {
        EXPECT_EQ(a->graph.guid(sw), b->graph.guid(sw));
    }
    EXPECT_EQ(a->lfts, b->lfts);
}

TEST(SharpSubnetRecords, ALinkToWhoIsNotToldOfIsLeftOut) {
    TestSa sa(tree());
    SubnetRecords records = sa.records();
    const Lid gone = records.nodes.front().lid;  // A host's LID: hosts come first.
    records.nodes.erase(records.nodes.begin());
    records.tables.push_back({.lid = Lid{4000}, .block_num = 2});
    const auto subnet = join_records(records);
    ASSERT_TRUE(subnet) << subnet.error();
    EXPECT_EQ(subnet->graph.target_of(gone), routing::kNone);
    EXPECT_EQ(subnet->graph.host_count(), 53U);
}

TEST(SharpSubnetRecords, TwoCablesInOnePortAreAContradiction) {
    TestSa sa(tree());
    SubnetRecords records = sa.records();
    const auto between = [&](const wire::LinkRecord& link) {
        return sa.is_switch(link.from_lid) && sa.is_switch(link.to_lid);
    };
    wire::LinkRecord wrong = *std::ranges::find_if(records.links, between);
    wrong.to_port = PortNum{static_cast<std::uint8_t>(wrong.to_port.value % 6 + 1)};
    records.links.push_back(wrong);
    EXPECT_FALSE(join_records(records));
}

TEST(SharpSubnetReader, AsksAgainAndGivesUp) {
    TestSa sa(tree());
    SubnetReader reader({.answer_timeout_ns = 100, .tries = 3});
    reader.start(Lid{1});
    int asked = 0;
    for (std::uint64_t now = 0; reader.reading(); now += 100) {
        reader.handle_timeout(now);
        asked += reader.poll_transmit(now) ? 1 : 0;
    }
    EXPECT_EQ(asked, 3);
    const auto result = reader.poll_result();
    ASSERT_TRUE(result);
    ASSERT_FALSE(*result);
    EXPECT_NE(result->error().find("does not answer"), std::string::npos);
    EXPECT_FALSE(reader.poll_result());
}

TEST(SharpSubnetReader, ReadsWhileAnswersAreLostAndTheSaIsBusy) {
    TestSa sa(tree());
    SubnetReader reader({.answer_timeout_ns = 100, .tries = 4});
    reader.start(Lid{1});
    std::uint32_t turns = 0;
    for (std::uint64_t now = 0; reader.reading(); now += 100) {
        reader.handle_timeout(now);
        while (const auto question = reader.poll_transmit(now)) {
            ++turns;
            auto answer = sa.answer(question->mad);
            if (turns % 3 == 0) {
                wire::store_be(answer.data() + 4, wire::mad_status::kBusy);
            }
            if (turns % 4 != 0) {
                reader.handle(answer);
                reader.handle(answer);  // The same answer again: the reader ignores it.
            }
        }
    }
    const auto result = reader.poll_result();
    ASSERT_TRUE(result && *result);
    expect_same(**result, sa.graph(), sa.lfts());
}

TEST(SharpSubnetReader, AnSaThatRefusesIsNamed) {
    TestSa sa(tree());
    SubnetReader reader({});
    reader.start(Lid{7});
    while (const auto question = reader.poll_transmit(0)) {
        auto answer = sa.answer(question->mad);
        wire::store_be(answer.data() + 4, wire::mad_status::kUnsupportedAttribute);
        reader.handle(answer);
    }
    const auto result = reader.poll_result();
    ASSERT_TRUE(result);
    ASSERT_FALSE(*result);
    EXPECT_NE(result->error().find("LID 7 refuses attribute 0x0011"), std::string::npos)
        << result->error();
}

}  // namespace
}  // namespace softib::sharp
