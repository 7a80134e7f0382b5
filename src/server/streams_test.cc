// SPDX-License-Identifier: BSD-2-Clause
#include "server/streams.h"

#include <gtest/gtest.h>

namespace softib::server {
namespace {

constexpr std::chrono::milliseconds kNow{0};

TEST(Streams, EverybodyGetsTheSameMessages) {
    Streams streams(4);
    const auto a = streams.subscribe(std::nullopt);
    const auto b = streams.subscribe(std::nullopt);
    streams.publish(1, "sample", "{}");
    EXPECT_EQ(*a->wait(kNow), "id: 1\nevent: sample\ndata: {}\n\n");
    EXPECT_EQ(*b->wait(kNow), "id: 1\nevent: sample\ndata: {}\n\n");
    EXPECT_EQ(a->wait(kNow), nullptr);
}

TEST(Streams, AClientThatDoesNotReadHoldsUpNobodyAndResyncs) {
    Streams streams(4);
    const auto slow = streams.subscribe(std::nullopt);
    const auto quick = streams.subscribe(std::nullopt);
    const std::string text(100'000, ' ');
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        streams.publish(i, "sample", text);
        ASSERT_NE(quick->wait(kNow), nullptr);
    }
    EXPECT_EQ(*slow->wait(kNow), "event: resync\ndata: {}\n\n");
    std::size_t left = 0;
    while (slow->wait(kNow) != nullptr) {
        ++left;
    }
    EXPECT_LE(left * text.size(), Subscriber::kQueuedBytes);
}

TEST(Streams, ABurstOfShortMessagesIsNotLost) {
    Streams streams(4);
    const auto client = streams.subscribe(std::nullopt);
    for (std::uint64_t i = 1; i <= 2000; ++i) {
        streams.publish(i, "event", "{}");
    }
    for (std::uint64_t i = 1; i <= 2000; ++i) {
        const MessageText message = client->wait(kNow);
        ASSERT_NE(message, nullptr);
        ASSERT_TRUE(message->starts_with("id: " + std::to_string(i) + "\n"));
    }
}

TEST(Streams, AMessageThatIsLongerThanTheBoundComesAlone) {
    Streams streams(4);
    const auto client = streams.subscribe(std::nullopt);
    streams.publish(1, "sample", std::string(Subscriber::kQueuedBytes + 1, ' '));
    EXPECT_GT(client->wait(kNow)->size(), Subscriber::kQueuedBytes);
}

TEST(Streams, AClientThatComesBackGetsWhatItMissed) {
    Streams streams(4);
    for (std::uint64_t i = 1; i <= 5; ++i) {
        streams.publish(i, "sample", std::to_string(i));
    }
    const auto back = streams.subscribe(3);
    EXPECT_NE(back->wait(kNow)->find("data: 4"), std::string::npos);
    EXPECT_NE(back->wait(kNow)->find("data: 5"), std::string::npos);
    EXPECT_EQ(back->wait(kNow), nullptr);
}

TEST(Streams, AClientThatWasAwayTooLongResyncs) {
    Streams streams(4);
    for (std::uint64_t i = 1; i <= 500; ++i) {
        streams.publish(i, "sample", "{}");
    }
    EXPECT_NE(streams.subscribe(3)->wait(kNow)->find("resync"), std::string::npos);
}

TEST(Streams, ThereIsABoundOnClients) {
    Streams streams(2);
    const auto a = streams.subscribe(std::nullopt);
    const auto b = streams.subscribe(std::nullopt);
    EXPECT_EQ(streams.subscribe(std::nullopt), nullptr);
    streams.unsubscribe(a);
    EXPECT_NE(streams.subscribe(std::nullopt), nullptr);
}

TEST(Streams, StoppingEndsAllStreams) {
    Streams streams(2);
    const auto a = streams.subscribe(std::nullopt);
    streams.stop();
    EXPECT_TRUE(a->over());
    EXPECT_EQ(streams.subscribe(std::nullopt), nullptr);
}

}  // namespace
}  // namespace softib::server
