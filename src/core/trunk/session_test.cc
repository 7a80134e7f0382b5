// SPDX-License-Identifier: BSD-2-Clause
#include "core/trunk/session.h"

#include <gtest/gtest.h>

#include <deque>

#include "core/base/prng.h"

namespace softib::trunk {
namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr SipKey kKey{1, 2, 3};
constexpr std::uint64_t kWindow = 10'000;

/// Both ends of a trunk, with simulated time. Every datagram arrives unless a test drops it.
struct Pair {
    Session a{kKey, 100, kWindow};
    Session b{kKey, 200, kWindow};
    std::uint64_t now = 1;

    static Bytes hello(Session& from, std::uint64_t now) {
        Bytes out(kHeaderBytes);
        return from.poll_hello(std::span<std::uint8_t, kHeaderBytes>(out), now) ? out : Bytes{};
    }
    void tell(Session& from, Session& to) const {
        for (Bytes bytes = hello(from, now); !bytes.empty(); bytes = hello(from, now)) {
            to.handle_datagram(bytes, now);
        }
    }
    void talk() {
        for (int i = 0; i < 4; ++i) {
            tell(a, b);
            tell(b, a);
        }
    }
    void pass(std::uint64_t ns) {
        now += ns;
        a.handle_timeout(now);
        b.handle_timeout(now);
    }
    static Bytes sealed(Session& from, const Bytes& body) {
        Bytes out(kHeaderBytes);
        out.insert(out.end(), body.begin(), body.end());
        from.seal(out);
        return out;
    }
};

TEST(TrunkSession, ComesUpBetweenHoldersOfOneKey) {
    Pair pair;
    pair.talk();
    ASSERT_TRUE(pair.a.up());
    ASSERT_TRUE(pair.b.up());
    const Bytes body{5, 6, 7};
    const Bytes datagram = Pair::sealed(pair.a, body);
    const auto got = pair.b.handle_datagram(datagram, pair.now);
    ASSERT_TRUE(got);
    EXPECT_EQ(Bytes(got->begin(), got->end()), body);
}

TEST(TrunkSession, StaysDownWithAnotherKey) {
    Pair pair;
    pair.b = Session({9}, 200, kWindow);
    pair.talk();
    EXPECT_FALSE(pair.a.up());
    EXPECT_FALSE(pair.b.up());
    EXPECT_GT(pair.a.refused() + pair.b.refused(), 0U);
}

TEST(TrunkSession, NoByteOfADatagramMayChange) {
    Pair pair;
    pair.talk();
    const Bytes datagram = Pair::sealed(pair.a, Bytes(2500, 0x33));
    for (std::size_t at = 0; at < datagram.size(); ++at) {
        Bytes changed = datagram;
        changed[at] ^= 0x40;
        EXPECT_FALSE(pair.b.handle_datagram(changed, pair.now)) << at;
    }
    Bytes shorter = datagram;
    shorter.pop_back();
    EXPECT_FALSE(pair.b.handle_datagram(shorter, pair.now));
    Bytes longer = datagram;
    longer.push_back(0);
    EXPECT_FALSE(pair.b.handle_datagram(longer, pair.now));
    EXPECT_EQ(pair.b.refused(), datagram.size() + 2);
    EXPECT_TRUE(pair.b.handle_datagram(datagram, pair.now));
}

TEST(TrunkSession, RandomDatagramsAreRefused) {
    Pair pair;
    pair.talk();
    Prng random(1);
    for (int i = 0; i < 20'000; ++i) {
        Bytes bytes(random.below(200));
        for (std::uint8_t& byte : bytes) {
            byte = static_cast<std::uint8_t>(random.below(256));
        }
        EXPECT_FALSE(pair.b.handle_datagram(bytes, pair.now));
    }
    EXPECT_EQ(pair.b.refused(), 20'000U);
    EXPECT_TRUE(pair.b.up());
}

TEST(TrunkSession, NothingIsTakenTwice) {
    Pair pair;
    pair.talk();
    const Bytes first = Pair::sealed(pair.a, {1});
    const Bytes second = Pair::sealed(pair.a, {2});
    EXPECT_TRUE(pair.b.handle_datagram(second, pair.now));
    EXPECT_FALSE(pair.b.handle_datagram(second, pair.now));
    EXPECT_FALSE(pair.b.handle_datagram(first, pair.now)) << "it was overtaken";
}

TEST(TrunkSession, AnOldSessionCannotBePlayedAgain) {
    Pair pair;
    pair.talk();
    const Bytes old = Pair::sealed(pair.a, {1});
    pair.a = Session(kKey, 101, kWindow);
    pair.talk();
    ASSERT_TRUE(pair.a.up());
    EXPECT_EQ(pair.b.sessions(), 2U);
    EXPECT_FALSE(pair.b.handle_datagram(old, pair.now));
    EXPECT_TRUE(pair.b.handle_datagram(Pair::sealed(pair.a, {1}), pair.now));
    EXPECT_EQ(pair.b.sessions(), 2U);
}

TEST(TrunkSession, ItsOwnDatagramMakesNoPeer) {
    Pair pair;
    const Bytes own = Pair::hello(pair.a, pair.now);
    ASSERT_FALSE(own.empty());
    EXPECT_FALSE(pair.a.handle_datagram(own, pair.now));
    EXPECT_TRUE(Pair::hello(pair.a, pair.now).empty()) << "answers itself";
    EXPECT_FALSE(pair.a.up());
}

TEST(TrunkSession, GoesDownInSilenceAndComesBack) {
    Pair pair;
    pair.talk();
    pair.pass(kSilenceNs);
    EXPECT_FALSE(pair.a.up());
    EXPECT_FALSE(pair.b.up());
    pair.talk();
    EXPECT_TRUE(pair.a.up());
    EXPECT_TRUE(pair.b.up());
    EXPECT_EQ(pair.a.sessions(), 1U);
}

TEST(TrunkSession, SendsNoMoreThanTheBuffersHold) {
    Pair pair;
    pair.talk();
    std::deque<Bytes> under_way;
    while (pair.a.may_send()) {
        under_way.push_back(Pair::sealed(pair.a, Bytes(1000)));
    }
    EXPECT_EQ(under_way.size(), kWindow / 1000);
    for (const Bytes& datagram : under_way) {
        EXPECT_TRUE(pair.b.handle_datagram(datagram, pair.now));
    }
    pair.tell(pair.b, pair.a);
    EXPECT_TRUE(pair.a.may_send());
}

TEST(TrunkSession, LostDatagramsDoNotStopItForEver) {
    Pair pair;
    pair.talk();
    while (pair.a.may_send()) {
        Pair::sealed(pair.a, Bytes(1000));
    }
    EXPECT_TRUE(Pair::hello(pair.a, pair.now).empty());
    EXPECT_LE(pair.a.next_timeout_ns(), pair.now + kHelloBlockedNs);
    pair.pass(kHelloNs);
    pair.talk();
    EXPECT_TRUE(pair.a.may_send());
}

}  // namespace
}  // namespace softib::trunk
