// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/outbox.h"

#include <gtest/gtest.h>

#include <string>

namespace softib::net {
namespace {

struct NoNet {};

/// Writes down what it hears. A packet is named by its body.
struct Listener {
    static constexpr unsigned kHears =
        hears::kCopied | hears::kDropped | hears::kTapped | hears::kRefused;
    void deliver(NoNet&, std::uint32_t port, const Packet& packet) {
        note("deliver", port, packet);
    }
    void sent(NoNet&, std::uint32_t port, const Packet& packet) {
        note("sent", port, packet);
        if (packet.body == 1 && outbox != nullptr) {
            outbox->left.push_back({port, {.body = 100}});
        }
    }
    void timer(NoNet&, std::uint32_t port, std::uint32_t word) {
        heard += "timer " + std::to_string(port) + " " + std::to_string(word) + "; ";
    }
    void copied(NoNet&, const Packet& packet, std::uint32_t more) { note("copied", more, packet); }
    void dropped(NoNet&, const Packet& packet, TimePs at) {
        note("dropped", static_cast<std::uint32_t>(at), packet);
    }
    void tapped(NoNet&, std::uint32_t port, const Packet& packet) { note("tapped", port, packet); }
    void refused(NoNet&, std::uint32_t port, bool inbound, const Packet& packet) {
        note(inbound ? "refused in" : "refused out", port, packet);
    }
    void note(const char* what, std::uint32_t number, const Packet& packet) {
        heard += what + (" " + std::to_string(number)) + " #" + std::to_string(packet.body) + "; ";
    }

    std::string heard;
    Outbox* outbox = nullptr;
};

struct HearsNothingElse {
    static constexpr unsigned kHears = hears::kNothingElse;
    void deliver(NoNet&, std::uint32_t, const Packet&) {}
    void sent(NoNet&, std::uint32_t, const Packet&) {}
    void timer(NoNet&, std::uint32_t, std::uint32_t) {}
};

class OutboxTest : public testing::Test {
  protected:
    NoNet net;
    Listener ends;
    Outbox outbox;
};

TEST_F(OutboxTest, WatchersHearOfAPacketBeforeTheEndThatTakesIt) {
    outbox.has_taken = true;
    outbox.taken = {4, {.body = 1}};
    outbox.tapped.push_back({4, {.body = 1}});
    outbox.refused.push_back({5, true, {.body = 2}});
    outbox.tell_event(net, ends);
    EXPECT_EQ(ends.heard, "tapped 4 #1; refused in 5 #2; deliver 4 #1; ");
}

TEST_F(OutboxTest, ATimerComesAlone) {
    outbox.has_timer = true;
    outbox.timer = {3, 17};
    outbox.tell_event(net, ends);
    outbox.tell_event(net, ends);
    EXPECT_EQ(ends.heard, "timer 3 17; ");
}

TEST_F(OutboxTest, ThePacketThatLeftLastIsToldOfFirst) {
    outbox.left = {{1, {.body = 2}}, {1, {.body = 3}}};
    outbox.copied = {{{.body = 4}, 2}};
    outbox.dropped = {{{.body = 5}, 90}};
    outbox.tell_rest(net, ends);
    EXPECT_EQ(ends.heard, "sent 1 #3; sent 1 #2; copied 2 #4; dropped 90 #5; ");
}

TEST_F(OutboxTest, WhatEndsMakeLeaveWhileTheyAreToldIsToldToo) {
    ends.outbox = &outbox;
    outbox.left = {{6, {.body = 1}}};
    outbox.tell_rest(net, ends);
    EXPECT_EQ(ends.heard, "sent 6 #1; sent 6 #100; ");
    EXPECT_TRUE(outbox.left.empty());
}

TEST_F(OutboxTest, WhatEndsDoNotHearOfIsForgotten) {
    HearsNothingElse deaf;
    outbox.tapped.push_back({1, {}});
    outbox.refused.push_back({1, false, {}});
    outbox.copied.push_back({{}, 1});
    outbox.dropped.push_back({{}, 1});
    outbox.tell_event(net, deaf);
    outbox.tell_rest(net, deaf);
    EXPECT_TRUE(outbox.tapped.empty() && outbox.refused.empty());
    EXPECT_TRUE(outbox.copied.empty() && outbox.dropped.empty());
}

}  // namespace
}  // namespace softib::net
