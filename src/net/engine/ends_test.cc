// SPDX-License-Identifier: BSD-2-Clause
// A type whose functions the network would not call is no ends: it does not compile.
#include "net/engine/ends.h"

#include <gtest/gtest.h>

namespace softib::net {
namespace {

struct Plain {
    static constexpr unsigned kHears = hears::kNothingElse;
    void deliver(Engine&, std::uint32_t, const Packet&) {}
    void sent(Engine&, std::uint32_t, const Packet&) {}
    void timer(Engine&, std::uint32_t, std::uint32_t) {}
};

struct HearsAll : Plain {
    static constexpr unsigned kHears =
        hears::kCopied | hears::kDropped | hears::kTapped | hears::kRefused | hears::kFetch;
    void copied(Engine&, const Packet&, std::uint32_t) {}
    void dropped(Engine&, const Packet&, TimePs) {}
    void tapped(Engine&, std::uint32_t, const Packet&) {}
    void refused(Engine&, std::uint32_t, bool, const Packet&) {}
    void fetch(const Packet&) const {}
};

struct DeliversLater : Plain {
    void deliver(Engine&, std::uint32_t, const Packet&, TimePs) {}
};
struct HasNoTimer {
    static constexpr unsigned kHears = hears::kNothingElse;
    void deliver(Engine&, std::uint32_t, const Packet&) {}
    void sent(Engine&, std::uint32_t, const Packet&) {}
};
struct SaysNotWhatItHears {
    void deliver(Engine&, std::uint32_t, const Packet&) {}
    void sent(Engine&, std::uint32_t, const Packet&) {}
    void timer(Engine&, std::uint32_t, std::uint32_t) {}
};
struct DroppedWithoutTime : Plain {
    static constexpr unsigned kHears = hears::kDropped;
    void dropped(Engine&, const Packet&) {}
};
struct RefusedWithPortAndDirectionSwapped : Plain {
    static constexpr unsigned kHears = hears::kRefused;
    void refused(Engine&, bool, std::uint32_t, const Packet&) {}
};
struct TappedWithoutBit : Plain {
    void tapped(Engine&, std::uint32_t, const Packet&) {}
};
struct CopiedWithoutFunction : Plain {
    static constexpr unsigned kHears = hears::kCopied;
};
struct FetchThatChanges : Plain {
    static constexpr unsigned kHears = hears::kFetch;
    void fetch(const Packet&) {}
};

TEST(Ends, HaveTheFunctionsThatTheNetworkCalls) {
    static_assert(Ends<Plain> && Ends<HearsAll>);
    static_assert(!Ends<DeliversLater> && !Ends<HasNoTimer> && !Ends<SaysNotWhatItHears>);
}

TEST(Ends, HaveEachFunctionThatTheyHearByWithItsSignature) {
    static_assert(!Ends<DroppedWithoutTime>);
    static_assert(!Ends<RefusedWithPortAndDirectionSwapped>);
    static_assert(!Ends<CopiedWithoutFunction>);
    static_assert(!Ends<FetchThatChanges>);
}

TEST(Ends, HaveNoFunctionThatTheyWouldNotHearBy) {
    static_assert(!Ends<TappedWithoutBit>);
}

}  // namespace
}  // namespace softib::net
