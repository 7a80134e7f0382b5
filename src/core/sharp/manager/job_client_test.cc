// SPDX-License-Identifier: BSD-2-Clause
#include "core/sharp/manager/job_client.h"

#include <gtest/gtest.h>

#include "core/wire/mad/mad.h"

namespace softib::sharp {
namespace {

using wire::SharpJob;

/// Returns the packet with which a manager gives any answer to a question.
mad::Packet answer_to(const mad::Packet& question, const SharpJob& answer) {
    mad::Packet packet = question;
    packet.slid = question.dlid;
    packet.dlid = question.slid;
    wire::Mad<std::uint8_t>(packet.mad).set_method(wire::Method::kGetResp);
    wire::emit(answer, std::span<std::uint8_t>(wire::Sharp<std::uint8_t>(packet.mad).data()));
    return packet;
}

TEST(SharpJobClient, AManagerDecidesOnlyWhatIsItsToDecide) {
    JobClient client;
    const SharpJob asked{.op = SharpJob::Op::kJoinJob, .job = 3, .rank = 1, .lid = Lid{9}};
    client.ask(1, Lid{5}, asked);
    const auto question = client.poll_transmit(0);
    ASSERT_TRUE(question);
    client.handle(answer_to(*question, {.op = SharpJob::Op::kCreateJob,
                                        .error = 4,
                                        .job = 77,
                                        .size = 1U << 30U,
                                        .rank = 1U << 30U}));
    SharpJob expected = asked;
    expected.error = 4;
    EXPECT_EQ(client.take(1), expected);
}

TEST(SharpJobClient, AManagerThatIsSlowIsAskedThreeTimesAndGivenTwiceAsLongEachTime) {
    constexpr std::uint64_t kHalf = 500'000'000;
    JobClient client;
    client.ask(1, Lid{5}, {.op = SharpJob::Op::kKeepAlive});
    std::uint64_t now = 0;
    for (const std::uint64_t waits : {kHalf, 2 * kHalf, 4 * kHalf}) {
        ASSERT_TRUE(client.poll_transmit(now));
        EXPECT_EQ(client.next_timeout_ns(), now + waits);
        now += waits;
        client.handle_timeout(now - 1);
        EXPECT_FALSE(client.poll_transmit(now)) << "not yet";
        client.handle_timeout(now);
    }
    EXPECT_EQ(client.take(1)->error, 8) << "no connection to the manager";
}

TEST(SharpJobClient, AnAnswerOfAnotherPortIsNone) {
    JobClient client;
    client.ask(1, Lid{5}, {.op = SharpJob::Op::kCreateJob, .size = 2});
    const auto question = client.poll_transmit(0);
    ASSERT_TRUE(question);
    mad::Packet forged = answer_to(*question, {.op = SharpJob::Op::kCreateJob, .job = 8});
    forged.slid = Lid{6};
    client.handle(forged);
    EXPECT_EQ(client.take(1), std::nullopt);
    client.handle(answer_to(*question, {.op = SharpJob::Op::kCreateJob, .job = 8}));
    EXPECT_EQ(client.take(1)->job, 8U);
}

}  // namespace
}  // namespace softib::sharp
