// SPDX-License-Identifier: BSD-2-Clause
#include "core/mad/rmpp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/base/prng.h"
#include "core/mad/rmpp_endpoint.h"
#include "core/wire/sa.h"

namespace softib::mad {

namespace {

using wire::MadBytes;
using wire::RmppHeader;
using wire::RmppStatus;
using wire::RmppType;
namespace flag = wire::rmpp_flag;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint8_t kGetTableResp = 0x92;
constexpr std::uint8_t kGetMulti = 0x14;

/// Returns a message of the SA with `data_bytes` bytes of data, whose values tell places apart.
std::vector<std::uint8_t> message(std::size_t data_bytes, std::uint64_t tid = 1,
                                  std::uint8_t method = kGetTableResp) {
    MadBytes mad{};
    wire::MadRepr{.mgmt_class = wire::MgmtClass::kSubnAdm,
                  .class_version = wire::kSaClassVersion,
                  .method = static_cast<wire::Method>(method),
                  .transaction_id = tid,
                  .attribute_id = 0x11}
        .emit(wire::Mad<std::uint8_t>(mad));
    wire::Sa<std::uint8_t>(mad).set_rmpp({.rmpp_version = wire::kRmppVersion,
                                          .rmpp_type = RmppType::kData,
                                          .rmpp_flags = flag::kActive});
    wire::Sa<std::uint8_t>(mad).set_header({.attribute_offset = 14});
    std::vector<std::uint8_t> bytes(mad.begin(), mad.begin() + wire::kSaDataOffset);
    for (std::size_t i = 0; i < data_bytes; ++i) {
        bytes.push_back(static_cast<std::uint8_t>((i * 7 + i / 251 + tid) & 0xFF));
    }
    return bytes;
}

RmppHeader header_of(const MadBytes& mad) {
    return wire::Sa<const std::uint8_t>(mad).rmpp();
}

/// Returns whether two messages are equal in all but the RMPP header, which endpoints write.
bool same_message(std::vector<std::uint8_t> a, std::vector<std::uint8_t> b) {
    for (auto* m : {&a, &b}) {
        std::fill_n(m->begin() + wire::kRmppOffset, RmppHeader::kBytes, std::uint8_t{0});
    }
    return a == b;
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

MadBytes with_rmpp(MadBytes mad, const RmppHeader& header) {
    wire::Sa<std::uint8_t>(mad).set_rmpp(header);
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

namespace {

/// Two endpoints with a bad wire between them, in virtual time.
class Pair {
  public:
    struct Wire {
        std::uint32_t drop_percent = 0;
        std::uint32_t duplicate_percent = 0;
        std::uint32_t delay_max_ms = 0;
    };

    Pair(std::uint64_t seed, const Wire& wire, const RmppLimits& limits)
        : prng_(seed), wire_(wire), ends_{RmppEndpoint(limits), RmppEndpoint(limits)} {}

    RmppEndpoint& end(int which) { return ends_[which]; }
    std::uint64_t now_ns() const { return now_ns_; }
    static RmppPeer peer_of(int which) {
        return {.lid = Lid{static_cast<std::uint16_t>(1 + which)}};
    }
    std::vector<RmppEvent>& events(int which) { return events_[which]; }

    /// Runs until no MAD is under way and no timer runs.
    void drive() {
        for (int rounds = 0; rounds < 1'000'000; ++rounds) {
            transmit();
            std::uint64_t next = in_flight_.empty() ? UINT64_MAX : in_flight_.begin()->first;
            for (const RmppEndpoint& end : ends_) {
                next = std::min(next, end.next_timeout_ns());
            }
            if (next == UINT64_MAX) {
                return;
            }
            now_ns_ = std::max(now_ns_, next);
            deliver();
            for (RmppEndpoint& end : ends_) {
                end.handle_timeout(now_ns_);
            }
            collect();
        }
        FAIL() << "does not come to rest";
    }

  private:
    struct Flight {
        int to;
        MadBytes mad;
    };

    void transmit() {
        for (int from = 0; from < 2; ++from) {
            while (const auto out = ends_[from].poll_transmit()) {
                const std::uint32_t copies = prng_.below(100) < wire_.duplicate_percent ? 2 : 1;
                for (std::uint32_t i = 0; i < copies; ++i) {
                    if (prng_.below(100) < wire_.drop_percent) {
                        continue;
                    }
                    const std::uint64_t delay = 1 + prng_.below(wire_.delay_max_ms + 1);
                    in_flight_.emplace(now_ns_ + delay * kMs, Flight{1 - from, out->mad});
                }
            }
        }
    }
    void deliver() {
        while (!in_flight_.empty() && in_flight_.begin()->first <= now_ns_) {
            const Flight flight = in_flight_.begin()->second;
            in_flight_.erase(in_flight_.begin());
            ends_[flight.to].handle_mad(peer_of(1 - flight.to), flight.mad, now_ns_);
        }
    }
    void collect() {
        for (int which = 0; which < 2; ++which) {
            while (auto event = ends_[which].poll_event()) {
                events_[which].push_back(std::move(*event));
            }
        }
    }

    Prng prng_;
    Wire wire_;
    std::uint64_t now_ns_ = 0;
    RmppEndpoint ends_[2];
    std::multimap<std::uint64_t, Flight> in_flight_;
    std::vector<RmppEvent> events_[2];
};

struct Outcome {
    int sent = 0;
    int send_failed = 0;
    int received = 0;
    int receive_failed = 0;
};

}  // namespace

/// Checks for many seeds and wires that a message arrives at most once and unchanged, that a sender
/// that reports success is right, and that in the end no endpoint holds anything.
TEST(RmppPair, ArrivesOnceAndIntactOrBothHear) {
    std::size_t failures = 0;
    std::size_t successes = 0;
    for (std::uint64_t seed = 1; seed <= 400; ++seed) {
        Prng prng(seed * 7919);
        const Pair::Wire wire{.drop_percent = static_cast<std::uint32_t>(prng.below(45)),
                              .duplicate_percent = static_cast<std::uint32_t>(prng.below(40)),
                              .delay_max_ms = static_cast<std::uint32_t>(prng.below(30))};
        const RmppLimits limits{
            .window_segments = static_cast<std::uint32_t>(1 + prng.below(16)),
            .linger_ns = 5'000 * kMs,
            .timing = {.ack_timeout_ns = 60 * kMs, .retries = 2, .total_timeout_ns = 3'000 * kMs}};
        Pair pair(seed, wire, limits);
        std::map<std::uint64_t, std::vector<std::uint8_t>> sent;
        for (std::uint64_t tid = 1; tid <= 6; ++tid) {
            const int from = static_cast<int>(prng.below(2));
            sent[tid] = message(prng.below(6000), tid, from == 0 ? kGetTableResp : kGetMulti);
            ASSERT_TRUE(pair.end(from).send(Pair::peer_of(1 - from), sent[tid], tid, 0));
        }
        pair.drive();
        std::map<std::uint64_t, Outcome> outcomes;
        for (int which = 0; which < 2; ++which) {
            for (const RmppEvent& event : pair.events(which)) {
                const std::uint64_t tid = wire::load_be<std::uint64_t>(event.message.data() + 8);
                Outcome& outcome = outcomes[tid];
                switch (event.kind) {
                    case RmppEvent::kReceived:
                        ++outcome.received;
                        EXPECT_TRUE(same_message(event.message, sent[tid])) << seed;
                        break;
                    case RmppEvent::kSent:
                        ++outcome.sent;
                        EXPECT_EQ(event.cookie, tid);
                        break;
                    case RmppEvent::kSendFailed:
                        ++outcome.send_failed;
                        break;
                    case RmppEvent::kReceiveFailed:
                        ++outcome.receive_failed;
                        break;
                }
            }
        }
        for (std::uint64_t tid = 1; tid <= 6; ++tid) {
            const Outcome& outcome = outcomes[tid];
            EXPECT_EQ(outcome.sent + outcome.send_failed, 1) << seed;
            EXPECT_LE(outcome.received, 1) << seed;
            if (outcome.sent != 0) {
                EXPECT_EQ(outcome.received, 1) << seed;
            }
            successes += static_cast<std::size_t>(outcome.sent);
            failures += static_cast<std::size_t>(outcome.send_failed);
        }
        for (int which = 0; which < 2; ++which) {
            EXPECT_EQ(pair.end(which).transfers(), 0U) << seed;
            EXPECT_EQ(pair.end(which).lingering(), 0U) << seed;
        }
    }
    // Both outcomes occur often enough for the test to mean something.
    EXPECT_GT(successes, 1000U);
    EXPECT_GT(failures, 50U);
}

TEST(RmppPair, NothingIsLostOnAGoodWire) {
    Pair pair(1, {}, {});
    for (std::uint64_t tid = 1; tid <= 40; ++tid) {
        ASSERT_TRUE(pair.end(0).send(Pair::peer_of(1), message(tid * 997, tid), tid, 0));
    }
    pair.drive();
    EXPECT_EQ(pair.events(0).size(), 40U);
    EXPECT_EQ(pair.events(1).size(), 40U);
    for (const RmppEvent& event : pair.events(0)) {
        EXPECT_EQ(event.kind, RmppEvent::kSent);
    }
}

TEST(RmppPair, DeadWireFailsTheSender) {
    Pair pair(1, {.drop_percent = 100}, {});
    ASSERT_TRUE(pair.end(0).send(Pair::peer_of(1), message(5000), 1, 0));
    pair.drive();
    ASSERT_EQ(pair.events(0).size(), 1U);
    EXPECT_EQ(pair.events(0)[0].status, RmppStatus::kTooManyRetries);
    EXPECT_EQ(pair.end(0).transfers(), 0U);
}

/// Checks that random MADs cause no crash, that the limits hold, and that nothing is left at the
/// end.
TEST(RmppEndpoint, HostileMadsLeakNothing) {
    Prng prng(11);
    const RmppLimits limits{.window_segments = 8,
                            .message_bytes_max = 10'000,
                            .bytes_per_peer_max = 30'000,
                            .transfers_per_peer_max = 5,
                            .transfers_max = 12,
                            .lingering_max = 20,
                            .replies_queued_max = 100};
    RmppEndpoint endpoint(limits);
    std::uint64_t now_ns = 0;
    std::size_t busiest = 0;
    for (int round = 0; round < 200'000; ++round) {
        MadBytes mad;
        std::ranges::generate(mad, [&] { return static_cast<std::uint8_t>(prng.next()); });
        if (prng.chance(15, 16)) {
            mad[1] = static_cast<std::uint8_t>(wire::MgmtClass::kSubnAdm);
            mad[3] = prng.chance(1, 2) ? kGetTableResp : kGetTableResp ^ 0x80;
            std::fill_n(mad.begin() + 8, 8, std::uint8_t{0});
            mad[15] = static_cast<std::uint8_t>(prng.below(6));
            const auto segment = static_cast<std::uint32_t>(prng.below(10));
            const bool is_first = prng.chance(15, 16) ? segment == 1 : prng.chance(1, 2);
            mad = with_rmpp(
                mad, {.rmpp_version = static_cast<std::uint8_t>(prng.chance(31, 32) ? 1 : 2),
                      .rmpp_type = static_cast<RmppType>(prng.chance(3, 4) ? 1 : prng.below(6)),
                      .rmpp_flags =
                          static_cast<std::uint8_t>(flag::kActive | (is_first ? flag::kFirst : 0) |
                                                    (prng.chance(1, 8) ? flag::kLast : 0)),
                      .rmpp_status = static_cast<RmppStatus>(prng.chance(15, 16) ? 0 : 120),
                      .segment_number = segment,
                      .payload_length =
                          static_cast<std::uint32_t>(prng.chance(1, 2) ? 0 : prng.below(240))});
        }
        const RmppPeer peer{.lid = Lid{static_cast<std::uint16_t>(1 + prng.below(4))}};
        if (prng.chance(1, 64)) {
            (void)endpoint.send(peer, message(prng.below(3000), prng.below(6)), 0, now_ns);
        }
        endpoint.handle_mad(peer, mad, now_ns);
        if (prng.chance(1, 4)) {
            now_ns += prng.below(2'000) * kMs;
            endpoint.handle_timeout(now_ns);
        }
        while (prng.chance(2, 3) && endpoint.poll_transmit()) {
        }
        while (endpoint.poll_event()) {
        }
        busiest = std::max(busiest, endpoint.transfers());
        ASSERT_LE(endpoint.transfers(), limits.transfers_max);
        ASSERT_LE(endpoint.lingering(), limits.lingering_max);
    }
    EXPECT_GT(busiest, 4U);
    while (endpoint.next_timeout_ns() != UINT64_MAX) {
        endpoint.handle_timeout(endpoint.next_timeout_ns());
    }
    EXPECT_EQ(endpoint.transfers(), 0U);
    EXPECT_EQ(endpoint.lingering(), 0U);
}

}  // namespace softib::mad
