// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/mad/discovery.h"

#include <gtest/gtest.h>

#include "core/agent/from_fabric.h"
#include "core/topo/graph.h"
#include "core/topo/spec.h"
#include "telemetry/mad/perf_client.h"

namespace softib::telemetry {
namespace {

/// Counters that differ from port to port.
class Counts final : public agent::CounterSource {
  public:
    void refresh() override {}
    counters::PortCounts read(std::uint32_t node, std::uint8_t port) override {
        counters::PortCounts counts;
        counts.xmit_words = 1000ULL * node + port;
        counts.symbol_errors = port;
        return counts;
    }
    counters::LaneCounts read_lanes(std::uint32_t, std::uint8_t) override { return {}; }
};

class DiscoveryTest : public testing::Test {
  protected:
    DiscoveryTest()
        : graph_(*topo::generate({.shape = topo::Shape::kFatTree, .hosts = 8, .radix = 4})),
          mesh_(agent::make_mesh(graph_, counts_)) {
        for (agent::NodeId i = 0; i < mesh_.size(); ++i) {
            if (graph_.nodes[i].kind == topo::NodeKind::kHca) {
                own_ = {i, 1};
                break;
            }
        }
    }
    /// Moves MADs until the client is done. A MAD that no agent answers times out at once.
    void run(Discovery& discovery) {
        std::uint64_t now = 1;
        while (!discovery.done()) {
            bool moved = false;
            while (const auto mad = discovery.poll_transmit(now)) {
                mad::Packet packet;
                packet.mad = *mad;
                packet.dlid = kLidPermissive;
                mesh_.send(own_, packet, now);
                moved = true;
            }
            while (const auto arrived = mesh_.poll_delivery()) {
                discovery.handle(arrived->packet.mad);
                moved = true;
            }
            if (!moved) {
                now = discovery.next_timeout_ns();
                discovery.handle_timeout(now);
            }
        }
    }

    Counts counts_;
    topo::Fabric graph_;
    agent::Mesh mesh_;
    agent::End own_{};
};

TEST_F(DiscoveryTest, FindsTheGraphThatTheFabricWasMadeOf) {
    Discovery discovery({.window = 8, .timeout_ns = 1000, .retries = 1});
    run(discovery);
    const Inventory found = discovery.inventory();
    EXPECT_TRUE(compare(from_graph(graph_), found).empty());
    EXPECT_EQ(found.ports.size(), from_graph(graph_).ports.size());
    EXPECT_EQ(discovery.states().size(), found.ports.size());
    EXPECT_TRUE(discovery.silent().empty());
    EXPECT_EQ(found.ports[0].speed, "NDR");
}

TEST_F(DiscoveryTest, ADeadSwitchIsNotFoundAndTheRestIs) {
    const auto spine = graph_.find_node("spine0");
    ASSERT_TRUE(spine);
    mesh_.set_powered(spine->value, false);
    Discovery discovery({.window = 8, .timeout_ns = 1000, .retries = 1});
    run(discovery);
    EXPECT_EQ(discovery.inventory().nodes.size(), graph_.nodes.size() - 1);
}

/// Returns the inventory of port 3 of a switch with LID 5.
Inventory one_port() {
    Inventory inventory;
    inventory.nodes = {{.guid = Guid{1},
                        .system_guid = {},
                        .name = "sw",
                        .kind = {},
                        .lid = Lid{5},
                        .tier = 0,
                        .port_first = 0,
                        .port_count = 1}};
    inventory.ports.emplace_back().number = 3;
    return inventory;
}

TEST(PerfClient, APortThatDoesNotAnswerIsNotAskedForEver) {
    const Inventory inventory = one_port();
    PerfClient client(inventory, {.window = 4, .timeout_ns = 10, .retries = 1}, true);
    std::size_t sent = 0;
    for (std::uint64_t now = 0; !client.done() && now < 1000; now += 10) {
        client.handle_timeout(now);
        while (const auto packet = client.poll_transmit(now)) {
            EXPECT_EQ(packet->dlid, Lid{5});
            EXPECT_EQ(packet->mad[wire::kPmDataOffset + 1], 3);
            ++sent;
        }
    }
    EXPECT_TRUE(client.done());
    EXPECT_LE(sent, 8U);
    EXPECT_EQ(client.answered()[0], 0);
}

TEST(PerfClient, OfACounterThatTwoAttributesHaveTheLargerCounts) {
    const Inventory inventory = one_port();
    PerfClient client(inventory, {}, false);
    while (const auto asked = client.poll_transmit(0)) {
        mad::Packet answer = *asked;
        answer.slid = Lid{5};
        const wire::Mad<std::uint8_t> header(answer.mad);
        header.set_method(wire::Method::kGetResp);
        const bool wide = header.attribute_id() ==
                          static_cast<std::uint16_t>(wire::PmAttribute::kPortCountersExtended);
        if (wide) {
            wire::pm_data(answer.mad)[8 + 3] = 1;  // PortXmitData: 2^32 words.
        } else {
            wire::pm_data(answer.mad)[5] = 9;  // SymbolErrorCounter
        }
        client.handle(answer);
    }
    EXPECT_TRUE(client.done());
    EXPECT_EQ(client.counts()[0].xmit_words, std::uint64_t{1} << 32);
    EXPECT_EQ(client.counts()[0].symbol_errors, 9U);
}

TEST(PerfClient, ACounterThatWasResetIsZeroAndOneThatWasNotReadStays) {
    const Inventory inventory = one_port();
    PortCounts before;
    before.symbol_errors = 9;
    before.looping_errors = 4;
    before.buffer_overruns = 3;
    std::vector<PortCounts> counts{before};
    for (const bool details : {false, true}) {
        PerfClient silent(inventory, {.window = 4, .timeout_ns = 10, .retries = 0}, details);
        silent.update(counts);
        EXPECT_EQ(counts[0].symbol_errors, before.symbol_errors) << "the agent has not answered";
        EXPECT_EQ(counts[0].looping_errors, before.looping_errors);
        PerfClient client(inventory, {}, details);
        while (const auto asked = client.poll_transmit(0)) {
            mad::Packet answer = *asked;
            answer.slid = Lid{5};
            wire::Mad<std::uint8_t>(answer.mad).set_method(wire::Method::kGetResp);
            client.handle(answer);
        }
        client.update(counts);
        EXPECT_EQ(counts[0].symbol_errors, 0U);
        EXPECT_EQ(counts[0].looping_errors, details ? 0U : 4U);
        EXPECT_EQ(counts[0].buffer_overruns, details ? 0U : 3U) << "a detail may be larger";
        before = counts[0];
    }
}

}  // namespace
}  // namespace softib::telemetry
