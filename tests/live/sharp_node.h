// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A switch's aggregation node as a program reaches it by MADs of class 0x0B. The switch is the one
// on which the subnet manager is, the only switch of these tests' fabrics.

#include <gtest/gtest.h>
#include <infiniband/umad.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/wire/sharp/sharp_performance_counters.h"

namespace softib::test {

class AggregationNode {
  public:
    AggregationNode() {
        umad_init();
        port_ = umad_open_port("mlx5_0", 1);
        agent_ = umad_register(port_, kClass, wire::kSharpClassVersion, 0, nullptr);
        umad_port_t port{};
        EXPECT_EQ(umad_get_port("mlx5_0", 1, &port), 0);
        lid_ = static_cast<int>(port.sm_lid);
        umad_release_port(&port);
    }
    ~AggregationNode() { umad_close_port(port_); }
    AggregationNode(const AggregationNode&) = delete;
    AggregationNode& operator=(const AggregationNode&) = delete;

    std::uint16_t lid() const { return static_cast<std::uint16_t>(lid_); }

    /// Returns the node's PerformanceCounters.
    wire::SharpPerformanceCounters read() {
        wire::MadBytes mad{};
        const wire::MadRepr header{
            .mgmt_class = wire::MgmtClass::kSharp,
            .class_version = wire::kSharpClassVersion,
            .method = wire::Method::kGet,
            .transaction_id = ++transaction_,
            .attribute_id = static_cast<std::uint16_t>(wire::SharpAttribute::kPerformanceCounters)};
        header.emit(wire::Mad<std::uint8_t>(mad));
        send(mad, kAnswerMs);
        std::vector<std::uint8_t> room = room_for_one();
        int length = static_cast<int>(mad.size());
        EXPECT_GE(umad_recv(port_, room.data(), &length, 2 * kAnswerMs), 0);
        EXPECT_EQ(umad_status(room.data()), 0);
        std::memcpy(mad.data(), umad_get_mad(room.data()), mad.size());
        EXPECT_EQ(wire::Mad<const std::uint8_t>(mad).status(), 0);
        return wire::parse<wire::SharpPerformanceCounters>(
            wire::Sharp<const std::uint8_t>(mad).data());
    }

    /// Sends any MAD of the class, well-formed or not, without waiting for its answer.
    void send(const wire::MadBytes& mad, int answer_ms = 0) {
        std::vector<std::uint8_t> room = room_for_one();
        std::memcpy(umad_get_mad(room.data()), mad.data(), mad.size());
        umad_set_addr(room.data(), lid_, 1, 0, kServicesQKey);
        EXPECT_EQ(umad_send(port_, agent_, room.data(), static_cast<int>(mad.size()), answer_ms, 0),
                  0);
    }
    /// Drops all answers that have come.
    void forget_answers() {
        std::vector<std::uint8_t> room = room_for_one();
        int length = static_cast<int>(wire::kMadBytes);
        while (umad_recv(port_, room.data(), &length, 0) >= 0) {
            length = static_cast<int>(wire::kMadBytes);
        }
    }

  private:
    static constexpr std::uint8_t kClass = 0x0B;
    static constexpr int kServicesQKey = static_cast<int>(0x80010000);
    static constexpr int kAnswerMs = 10'000;

    static std::vector<std::uint8_t> room_for_one() {
        return std::vector<std::uint8_t>(umad_size() + wire::kMadBytes);
    }

    int port_ = -1;
    int agent_ = -1;
    int lid_ = 0;
    std::uint64_t transaction_ = 0;
};

}  // namespace softib::test
