// SPDX-License-Identifier: BSD-2-Clause
#include "core/mad/rmpp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/mad/rmpp_endpoint.h"
#include "core/mad/test_rmpp.h"
#include "core/wire/sa/sa.h"

namespace softib::mad {

namespace {

RmppHeader header_of(const MadBytes& mad) {
    return wire::Sa<const std::uint8_t>(mad).rmpp();
}

MadBytes data_segment(std::uint32_t segment, std::uint8_t flags, std::uint32_t length,
                      std::uint64_t tid = 1) {
    const std::vector<std::uint8_t> bytes = message(200, tid);
    MadBytes mad{};
    std::ranges::copy(bytes, mad.begin());
    wire::Sa<std::uint8_t>(mad).set_rmpp(
        {.rmpp_version = wire::kRmppVersion,
         .rmpp_type = RmppType::kData,
         .rmpp_flags = static_cast<std::uint8_t>(flags | flag::kActive),
         .segment_number = segment,
         .payload_length = length});
    return mad;
}

const RmppPeer kPeer{.lid = Lid{7}};

std::vector<MadBytes> drain(RmppEndpoint& endpoint) {
    std::vector<MadBytes> mads;
    while (const auto out = endpoint.poll_transmit()) {
        mads.push_back(out->mad);
    }
    return mads;
}

}  // namespace

TEST(RmppSender, ClassHeaderCountsInEverySegment) {
    RmppSender sender(message(450), {}, 10, 0);
    ASSERT_EQ(sender.segment_count(), 3U);
    const RmppHeader first = header_of(sender.next_segment());
    EXPECT_EQ(first.rmpp_flags, flag::kActive | flag::kFirst);
    EXPECT_EQ(first.segment_number, 1U);
    EXPECT_EQ(first.payload_length, 3 * 20 + 450U);
    const RmppHeader middle = header_of(sender.next_segment());
    EXPECT_EQ(middle.rmpp_flags, flag::kActive);
    EXPECT_EQ(middle.payload_length, 0U);
    const MadBytes last = sender.next_segment();
    EXPECT_EQ(header_of(last).rmpp_flags, flag::kActive | flag::kLast);
    EXPECT_EQ(header_of(last).payload_length, 20 + 50U);
    EXPECT_EQ(wire::Sa<const std::uint8_t>(last).header().attribute_offset, 14);
    EXPECT_FALSE(sender.wants_to_send());
}

TEST(RmppSender, EmptyMessageIsOneSegmentOfHeaders) {
    RmppSender sender(message(0), {}, 1, 0);
    EXPECT_EQ(sender.segment_count(), 1U);
    const RmppHeader only = header_of(sender.next_segment());
    EXPECT_EQ(only.rmpp_flags, flag::kActive | flag::kFirst | flag::kLast);
    EXPECT_EQ(only.payload_length, 20U);
}

TEST(RmppSender, FullSegmentsNeedNoneAfterThem) {
    EXPECT_EQ(RmppSender(message(200), {}, 1, 0).segment_count(), 1U);
    EXPECT_EQ(RmppSender(message(201), {}, 1, 0).segment_count(), 2U);
    EXPECT_EQ(RmppSender(message(400), {}, 1, 0).segment_count(), 2U);
}

TEST(RmppSender, StaysInsideTheWindow) {
    RmppSender sender(message(2000), {}, 1, 0);
    EXPECT_EQ(header_of(sender.next_segment()).segment_number, 1U);
    EXPECT_FALSE(sender.wants_to_send());
    EXPECT_EQ(sender.handle_ack({.segment_number = 1, .payload_length = 3}, 0).state,
              RmppStep::kGoing);
    EXPECT_EQ(header_of(sender.next_segment()).segment_number, 2U);
    EXPECT_EQ(header_of(sender.next_segment()).segment_number, 3U);
    EXPECT_FALSE(sender.wants_to_send());
    // An ACK that a later one has overtaken changes nothing.
    EXPECT_EQ(sender.handle_ack({.segment_number = 1, .payload_length = 1}, 0).state,
              RmppStep::kGoing);
    EXPECT_FALSE(sender.wants_to_send());
}

TEST(RmppSender, RefusesImpossibleAcks) {
    const auto answer = [](const RmppHeader& ack) {
        RmppSender sender(message(2000), {}, 3, 0);
        const RmppStep step = sender.handle_ack(ack, 0);
        EXPECT_EQ(step.state, RmppStep::kFailed);
        return step.status;
    };
    EXPECT_EQ(answer({.segment_number = 2, .payload_length = 1}),
              RmppStatus::kNewWindowLastTooSmall);
    EXPECT_EQ(answer({.segment_number = 4, .payload_length = 9}), RmppStatus::kSegmentNumberTooBig);
    EXPECT_EQ(answer({.rmpp_status = RmppStatus::kUnspecified, .payload_length = 9}),
              RmppStatus::kIllegalStatus);
}

TEST(RmppSender, SendsAgainFromTheLastAckAndGivesUp) {
    const RmppTiming timing{.ack_timeout_ns = 10 * kMs, .retries = 2};
    RmppSender sender(message(2000), timing, 2, 0);
    sender.next_segment();
    sender.next_segment();
    sender.handle_ack({.segment_number = 1, .payload_length = 3}, 1 * kMs);
    EXPECT_EQ(header_of(sender.next_segment()).segment_number, 3U);
    EXPECT_EQ(sender.deadline_ns(), 11 * kMs);
    EXPECT_EQ(sender.handle_timeout(11 * kMs).state, RmppStep::kGoing);
    EXPECT_EQ(header_of(sender.next_segment()).segment_number, 2U);
    EXPECT_EQ(sender.handle_timeout(21 * kMs).state, RmppStep::kGoing);
    const RmppStep end = sender.handle_timeout(31 * kMs);
    EXPECT_EQ(end.state, RmppStep::kFailed);
    EXPECT_EQ(end.status, RmppStatus::kTooManyRetries);
}

TEST(RmppSender, EndsWhenTheWholeTakesTooLong) {
    const RmppTiming timing{.ack_timeout_ns = 10 * kMs, .total_timeout_ns = 15 * kMs};
    RmppSender sender(message(2000), timing, 1, 0);
    sender.handle_ack({.segment_number = 1, .payload_length = 2}, 9 * kMs);
    EXPECT_EQ(sender.deadline_ns(), 15 * kMs);
    EXPECT_EQ(sender.handle_timeout(15 * kMs).status, RmppStatus::kTotalTimeTooLong);
}

TEST(RmppReceiver, TakesSegmentsInAnyOrder) {
    RmppSender sender(message(950), {}, 100, 0);
    std::vector<MadBytes> segments;
    while (sender.wants_to_send()) {
        segments.push_back(sender.next_segment());
    }
    ASSERT_EQ(segments.size(), 5U);
    RmppReceiver receiver(segments[0], 8, {}, 0);
    const RmppStep first = receiver.handle_data(segments[0]);
    EXPECT_TRUE(first.ack);
    EXPECT_EQ(header_of(receiver.ack()).segment_number, 1U);
    EXPECT_EQ(header_of(receiver.ack()).payload_length, 9U);
    for (const std::size_t i : {4U, 2U, 3U}) {
        EXPECT_EQ(receiver.handle_data(segments[i]).state, RmppStep::kGoing);
    }
    EXPECT_TRUE(receiver.handle_data(segments[0]).ack);  // As if the first ACK had been lost.
    const RmppStep end = receiver.handle_data(segments[1]);
    EXPECT_EQ(end.state, RmppStep::kDone);
    EXPECT_TRUE(end.ack);
    EXPECT_EQ(header_of(receiver.ack()).segment_number, 5U);
    EXPECT_TRUE(same_message(receiver.take_message(), message(950)));
}

TEST(RmppReceiver, NewWindowComesWhenTheOldIsFull) {
    RmppReceiver receiver(data_segment(1, flag::kFirst, 0), 3, {}, 0);
    EXPECT_TRUE(receiver.handle_data(data_segment(1, flag::kFirst, 0)).ack);
    EXPECT_FALSE(receiver.handle_data(data_segment(2, 0, 0)).ack);
    EXPECT_FALSE(receiver.handle_data(data_segment(3, 0, 0)).ack);
    EXPECT_TRUE(receiver.handle_data(data_segment(4, 0, 0)).ack);
    EXPECT_EQ(header_of(receiver.ack()).payload_length, 7U);
    // A segment beyond the window is ignored.
    EXPECT_FALSE(receiver.handle_data(data_segment(8, flag::kLast, 30)).ack);
    EXPECT_EQ(header_of(receiver.ack()).segment_number, 4U);
}

TEST(RmppReceiver, LengthsMustAgree) {
    const auto end_of = [](std::uint32_t promised, std::uint32_t last_length) {
        RmppReceiver receiver(data_segment(1, flag::kFirst, promised), 8, {}, 0);
        const RmppStep first = receiver.handle_data(data_segment(1, flag::kFirst, promised));
        if (first.state == RmppStep::kFailed) {
            return first.status;
        }
        return receiver.handle_data(data_segment(2, flag::kLast, last_length)).status;
    };
    EXPECT_EQ(end_of(270, 50), RmppStatus::kNormal);
    EXPECT_EQ(end_of(0, 50), RmppStatus::kNormal);  // The first segment need not give the sum.
    EXPECT_EQ(end_of(271, 50), RmppStatus::kInconsistentLastAndLength);
    EXPECT_EQ(end_of(220, 50), RmppStatus::kInconsistentLastAndLength);
    EXPECT_EQ(end_of(0, 221), RmppStatus::kInconsistentLastAndLength);
}

TEST(RmppReceiver, NothingComesAfterTheLast) {
    RmppReceiver receiver(data_segment(1, flag::kFirst, 0), 8, {}, 0);
    receiver.handle_data(data_segment(1, flag::kFirst, 0));
    EXPECT_EQ(receiver.handle_data(data_segment(3, flag::kLast, 30)).state, RmppStep::kGoing);
    EXPECT_EQ(receiver.handle_data(data_segment(4, 0, 0)).status,
              RmppStatus::kInconsistentLastAndLength);
}

TEST(RmppEndpoint, PlainMadsPassThrough) {
    RmppEndpoint endpoint;
    MadBytes mad{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnAdm, .method = wire::Method::kGet}.emit(
        wire::Mad<std::uint8_t>(mad));
    endpoint.handle_mad(kPeer, mad, 0);
    const auto event = endpoint.poll_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, RmppEvent::kReceived);
    EXPECT_EQ(event->message, std::vector<std::uint8_t>(mad.begin(), mad.end()));
    ASSERT_TRUE(endpoint.send(kPeer, event->message, 0, 0));
    EXPECT_EQ(drain(endpoint), std::vector<MadBytes>{mad});
    EXPECT_EQ(endpoint.transfers(), 0U);
    EXPECT_EQ(endpoint.next_timeout_ns(), UINT64_MAX);
}

TEST(RmppEndpoint, ClassesWithoutRmppAreNotRead) {
    RmppEndpoint endpoint;
    MadBytes mad = data_segment(1, flag::kFirst, 0);
    mad[1] = static_cast<std::uint8_t>(wire::MgmtClass::kCommMgmt);
    endpoint.handle_mad(kPeer, mad, 0);
    EXPECT_EQ(endpoint.poll_event()->kind, RmppEvent::kReceived);
    EXPECT_TRUE(drain(endpoint).empty());
}

TEST(RmppEndpoint, RefusesWhatItCannotSend) {
    RmppEndpoint endpoint({.message_bytes_max = 1000, .transfers_per_peer_max = 2});
    const auto refusal = [&](const RmppPeer& to, std::vector<std::uint8_t> bytes) {
        const auto sent = endpoint.send(to, std::move(bytes), 0, 0);
        EXPECT_FALSE(sent);
        return sent.error();
    };
    EXPECT_EQ(refusal(kPeer, {1, 3, 2, 1}), RmppRefusal::kMalformed);
    std::vector<std::uint8_t> plain = message(300);
    plain[wire::kRmppOffset + 2] = 0;
    EXPECT_EQ(refusal(kPeer, plain), RmppRefusal::kMalformed);
    EXPECT_EQ(refusal(kPeer, message(1000)), RmppRefusal::kTooLong);
    ASSERT_TRUE(endpoint.send(kPeer, message(300, 1), 0, 0));
    EXPECT_EQ(refusal(kPeer, message(300, 1)), RmppRefusal::kInProgress);
    ASSERT_TRUE(endpoint.send(kPeer, message(300, 2), 0, 0));
    EXPECT_EQ(refusal(kPeer, message(300, 3)), RmppRefusal::kBusy);
    EXPECT_TRUE(endpoint.send({.lid = Lid{8}}, message(300, 3), 0, 0));
    EXPECT_FALSE(to_string(RmppRefusal::kBusy).empty());
}

TEST(RmppEndpoint, AbortsWithTheRightStatus) {
    const auto status_for = [](const MadBytes& mad) {
        RmppEndpoint endpoint;
        endpoint.handle_mad(kPeer, mad, 0);
        const std::vector<MadBytes> out = drain(endpoint);
        EXPECT_EQ(out.size(), 1U);
        EXPECT_EQ(header_of(out.at(0)).rmpp_type, RmppType::kAbort);
        EXPECT_EQ(out.at(0)[3], kGetTableResp ^ 0x80);
        EXPECT_EQ(endpoint.transfers(), 0U);
        return header_of(out.at(0)).rmpp_status;
    };
    const MadBytes good = data_segment(1, flag::kFirst, 0);
    RmppHeader header = header_of(good);
    header.rmpp_version = 2;
    EXPECT_EQ(status_for(with_rmpp(good, header)), RmppStatus::kUnsupportedVersion);
    header = header_of(good);
    header.rmpp_type = static_cast<RmppType>(9);
    EXPECT_EQ(status_for(with_rmpp(good, header)), RmppStatus::kBadType);
    EXPECT_EQ(status_for(data_segment(2, flag::kFirst, 0)),
              RmppStatus::kInconsistentFirstAndSegment);
    EXPECT_EQ(status_for(data_segment(1, 0, 0)), RmppStatus::kInconsistentFirstAndSegment);
    EXPECT_EQ(status_for(data_segment(0, 0, 0)), RmppStatus::kInconsistentFirstAndSegment);
    header = header_of(good);
    header.rmpp_status = RmppStatus::kUnspecified;
    EXPECT_EQ(status_for(with_rmpp(good, header)), RmppStatus::kIllegalStatus);
}

TEST(RmppEndpoint, AbortEndsBothSidesAndIsNotAnswered) {
    RmppEndpoint endpoint;
    ASSERT_TRUE(endpoint.send(kPeer, message(500), 42, 0));
    const MadBytes first = drain(endpoint).at(0);
    endpoint.handle_mad(kPeer,
                        rmpp_reply(first, RmppType::kAbort, RmppStatus::kTooManyRetries, 0, 0), 0);
    const auto event = endpoint.poll_event();
    ASSERT_TRUE(event);
    EXPECT_EQ(event->kind, RmppEvent::kSendFailed);
    EXPECT_EQ(event->status, RmppStatus::kTooManyRetries);
    EXPECT_EQ(event->cookie, 42U);
    EXPECT_TRUE(same_message(event->message, message(500)));

    endpoint.handle_mad(kPeer, data_segment(1, flag::kFirst, 0), 0);
    EXPECT_EQ(endpoint.transfers(), 1U);
    drain(endpoint);
    MadBytes abort = data_segment(1, 0, 0);
    abort = with_rmpp(abort, {.rmpp_version = 1,
                              .rmpp_type = RmppType::kAbort,
                              .rmpp_flags = flag::kActive,
                              .rmpp_status = RmppStatus::kNormal});
    endpoint.handle_mad(kPeer, abort, 0);
    EXPECT_EQ(endpoint.poll_event()->status, RmppStatus::kIllegalStatus);
    EXPECT_TRUE(drain(endpoint).empty());
    EXPECT_EQ(endpoint.transfers(), 0U);
}

TEST(RmppEndpoint, StopsWhoSendsTooMuch) {
    RmppEndpoint endpoint(
        {.window_segments = 4, .message_bytes_max = 700, .transfers_per_peer_max = 2});
    endpoint.handle_mad(kPeer, data_segment(1, flag::kFirst, 100'000), 0);
    EXPECT_EQ(header_of(drain(endpoint).at(0)).rmpp_type, RmppType::kStop);
    EXPECT_EQ(endpoint.transfers(), 0U);
    for (std::uint32_t i = 1; i <= 4; ++i) {
        endpoint.handle_mad(kPeer, data_segment(i, i == 1 ? flag::kFirst : 0, 0), 0);
    }
    const MadBytes end = drain(endpoint).back();
    EXPECT_EQ(header_of(end).rmpp_type, RmppType::kStop);
    EXPECT_EQ(header_of(end).rmpp_status, RmppStatus::kResourcesExhausted);
    EXPECT_EQ(endpoint.poll_event()->kind, RmppEvent::kReceiveFailed);
    for (std::uint64_t tid = 10; tid < 13; ++tid) {
        endpoint.handle_mad(kPeer, data_segment(1, flag::kFirst, 0, tid), 0);
    }
    EXPECT_EQ(endpoint.transfers(), 2U);
    endpoint.handle_mad({.lid = Lid{8}}, data_segment(1, flag::kFirst, 0), 0);
    EXPECT_EQ(endpoint.transfers(), 3U);
    endpoint.forget(kPeer.lid);
    EXPECT_EQ(endpoint.transfers(), 1U);
}

TEST(RmppEndpoint, LateDuplicateGetsItsAckAndNoSecondMessage) {
    RmppEndpoint endpoint({.linger_ns = 10 * kMs});
    const MadBytes only = data_segment(1, flag::kFirst | flag::kLast, 100);
    endpoint.handle_mad(kPeer, only, 0);
    EXPECT_EQ(endpoint.poll_event()->message.size(), wire::kSaDataOffset + 80);
    EXPECT_EQ(drain(endpoint).size(), 1U);
    endpoint.handle_mad(kPeer, only, 5 * kMs);
    EXPECT_FALSE(endpoint.poll_event());
    EXPECT_EQ(header_of(drain(endpoint).at(0)).rmpp_type, RmppType::kAck);
    EXPECT_EQ(endpoint.next_timeout_ns(), 10 * kMs);
    endpoint.handle_timeout(10 * kMs);
    EXPECT_EQ(endpoint.lingering(), 0U);
}

TEST(RmppEndpoint, WhoAsksAgainGetsTheAnswerAgain) {
    RmppEndpoint endpoint;
    const MadBytes answer = data_segment(1, flag::kFirst | flag::kLast, 100, 5);
    endpoint.handle_mad(kPeer, answer, 0);
    ASSERT_TRUE(endpoint.poll_event());
    std::vector<std::uint8_t> request = message(0, 5, kGetTableResp ^ 0x80);
    request[wire::kRmppOffset + 2] = 0;
    ASSERT_TRUE(endpoint.send(kPeer, request, 0, 1));
    endpoint.handle_mad(kPeer, answer, 2);
    EXPECT_TRUE(endpoint.poll_event());
}

TEST(RmppEndpoint, TransfersTakeTurns) {
    RmppEndpoint endpoint;
    for (std::uint64_t tid = 1; tid <= 2; ++tid) {
        ASSERT_TRUE(endpoint.send(kPeer, message(1000, tid), 0, 0));
    }
    for (const MadBytes& first : drain(endpoint)) {
        endpoint.handle_mad(kPeer, rmpp_reply(first, RmppType::kAck, RmppStatus::kNormal, 1, 5), 0);
    }
    const std::vector<MadBytes> out = drain(endpoint);
    ASSERT_EQ(out.size(), 8U);
    for (std::size_t i = 0; i < out.size(); ++i) {
        EXPECT_EQ(wire::Mad<const std::uint8_t>(out[i]).transaction_id(), 1 + i % 2);
    }
}

TEST(RmppEndpoint, AnswerToADoubleSidedRequestStartsWithItsWindow) {
    RmppEndpoint client;
    RmppEndpoint server;
    const RmppPeer client_peer{.lid = Lid{1}};
    const RmppPeer server_peer{.lid = Lid{2}};
    ASSERT_TRUE(client.send(server_peer, message(300, 9, kGetMulti), 7, 0));
    for (bool moved = true; moved;) {
        moved = false;
        while (const auto out = client.poll_transmit()) {
            server.handle_mad(client_peer, out->mad, 0);
            moved = true;
        }
        while (const auto out = server.poll_transmit()) {
            client.handle_mad(server_peer, out->mad, 0);
            moved = true;
        }
    }
    EXPECT_EQ(client.poll_event()->kind, RmppEvent::kSent);
    EXPECT_TRUE(same_message(server.poll_event()->message, message(300, 9, kGetMulti)));
    ASSERT_TRUE(server.send(client_peer, message(2000, 9, kGetMulti | 0x80), 0, 0));
    EXPECT_EQ(drain(server).size(), 10U);  // Without an ACK in between.
}

}  // namespace softib::mad
