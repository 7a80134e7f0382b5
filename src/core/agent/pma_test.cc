// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/pma.h"

#include <gtest/gtest.h>

#include "core/wire/pm/port_samples_result.h"

namespace softib::agent {
namespace {

using wire::Method;
using wire::PmAttribute;
namespace sample = wire::sample_counter;

/// Counters of a switch. A port that has sent n packets has received 10 n.
struct ToyCounters : CounterSource {
    counters::PortCounts read(std::uint32_t, std::uint8_t port) override {
        counters::PortCounts counts;
        counts.xmit_packets = sent[port];
        counts.rcv_packets = 10 * sent[port];
        return counts;
    }
    std::array<std::uint64_t, 3> sent{};
};

NodeSpec two_ports() {
    NodeSpec spec;
    spec.type = wire::NodeType::kSwitch;
    spec.ports.resize(3);
    return spec;
}

struct ToySwitch {
    template <wire::Attribute T>
    T ask(Method method, PmAttribute attribute, const T& value) {
        wire::MadBytes mad{};
        wire::MadRepr header;
        header.mgmt_class = wire::MgmtClass::kPerf;
        header.class_version = wire::kPmClassVersion;
        header.method = method;
        header.attribute_id = static_cast<std::uint16_t>(attribute);
        header.emit(wire::Mad<std::uint8_t>(mad));
        wire::emit(value, wire::pm_data(mad));
        auto answer = agent.answer(node, 7, mad, counters);
        EXPECT_TRUE(answer);
        EXPECT_EQ(wire::Mad<const std::uint8_t>(*answer).status(), wire::mad_status::kOk);
        return wire::parse<T>(wire::pm_data(*answer));
    }
    /// Begins to sample counters of a port.
    void sample_port(std::uint8_t port, std::uint16_t tag,
                     std::array<std::uint16_t, 15> counter_select) {
        wire::PortSamplesControl control;
        control.port_select = PortNum{port};
        control.tag = tag;
        control.counter_select = counter_select;
        ask(Method::kSet, PmAttribute::kPortSamplesControl, control);
    }
    std::array<std::uint32_t, 15> result(std::uint16_t tag) {
        wire::PortSamplesResult asked;
        asked.tag = tag;
        return ask(Method::kGet, PmAttribute::kPortSamplesResult, asked).counter;
    }

    Node node{two_ports()};
    ToyCounters counters;
    PerfAgent agent;
};

TEST(PerfAgent, ASampleCountsSinceItsControlWasSet) {
    ToySwitch sw;
    sw.counters.sent = {0, 100, 0};
    sw.sample_port(1, 5, {sample::kPortXmitPkts, sample::kPortRcvPkts});
    sw.counters.sent[1] += 3;
    EXPECT_EQ(sw.result(5), (std::array<std::uint32_t, 15>{3, 30}));
    EXPECT_EQ(sw.result(6), (std::array<std::uint32_t, 15>{})) << "no control has this tag";
}

TEST(PerfAgent, OfTwoSamplesWithOneTagTheResultIsThatOfTheLastControl) {
    ToySwitch sw;
    sw.sample_port(2, 5, {sample::kPortXmitPkts, sample::kPortRcvPkts});
    sw.sample_port(1, 5, {sample::kPortXmitPkts});
    sw.counters.sent = {0, 3, 4};
    EXPECT_EQ(sw.result(5), (std::array<std::uint32_t, 15>{3}));
    sw.sample_port(2, 5, {sample::kPortXmitPkts});
    sw.counters.sent = {0, 8, 6};
    EXPECT_EQ(sw.result(5), (std::array<std::uint32_t, 15>{2}));
}

}  // namespace
}  // namespace softib::agent
