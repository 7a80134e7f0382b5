// SPDX-License-Identifier: BSD-2-Clause
// RMPP endpoints on a bad wire and with a hostile peer: what must hold for every seed.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/base/prng.h"
#include "core/base/test_effort.h"
#include "core/mad/rmpp_endpoint.h"
#include "core/mad/test_rmpp.h"
#include "core/wire/format/bytes.h"

namespace softib::mad {

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
    for (int round = 0; round < effort(200'000, 50'000); ++round) {
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
