// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// MCMemberRecord: one port's membership in a multicast group (IBA vol. 1, 15.2.5.17).

#include <cstddef>
#include <cstdint>

#include "core/base/ids.h"
#include "core/wire/format/layout.h"
#include "core/wire/format/selector.h"

namespace softib::wire {

/// JoinState bits.
inline constexpr std::uint8_t kJoinFullMember = 1 << 0;
inline constexpr std::uint8_t kJoinNonMember = 1 << 1;
inline constexpr std::uint8_t kJoinSendOnlyNonMember = 1 << 2;
inline constexpr std::uint8_t kJoinSendOnlyFullMember = 1 << 3;

struct McMemberRecord {
    static constexpr std::size_t kBytes = 52;

    Gid mgid{};
    Gid port_gid{};
    QKey qkey{};
    Lid mlid{};
    Selector mtu_selector = Selector::kExactly;
    std::uint8_t mtu = 0;
    std::uint8_t tclass = 0;
    PKey pkey{};
    Selector rate_selector = Selector::kExactly;
    std::uint8_t rate = 0;
    Selector packet_life_time_selector = Selector::kExactly;
    std::uint8_t packet_life_time = 0;
    std::uint8_t sl = 0;
    std::uint32_t flow_label = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t scope = 0;
    std::uint8_t join_state = 0;
    bool proxy_join = false;

    static constexpr auto fields() {
        using T = McMemberRecord;
        return Fields{
            Field{&T::mgid, "MGID", 0, 128, 0},
            Field{&T::port_gid, "PortGID", 128, 128, 1},
            Field{&T::qkey, "Q_Key", 256, 32, 2},
            Field{&T::mlid, "MLID", 288, 16, 3},
            Field{&T::mtu_selector, "MTUSelector", 304, 2, 4},
            Field{&T::mtu, "MTU", 306, 6, 5},
            Field{&T::tclass, "TClass", 312, 8, 6},
            Field{&T::pkey, "P_Key", 320, 16, 7},
            Field{&T::rate_selector, "RateSelector", 336, 2, 8},
            Field{&T::rate, "Rate", 338, 6, 9},
            Field{&T::packet_life_time_selector, "PacketLifeTimeSelector", 344, 2, 10},
            Field{&T::packet_life_time, "PacketLifeTime", 346, 6, 11},
            Field{&T::sl, "SL", 352, 4, 12},
            Field{&T::flow_label, "FlowLabel", 356, 20, 13}.hex(),
            Field{&T::hop_limit, "HopLimit", 376, 8, 14},
            Field{&T::scope, "Scope", 384, 4, 15},
            Field{&T::join_state, "JoinState", 388, 4, 16}.hex(),
            Field{&T::proxy_join, "ProxyJoin", 392, 1, 17},
        };
    }
    friend bool operator==(const McMemberRecord&, const McMemberRecord&) = default;
};
static_assert(layout_is_sound<McMemberRecord>());

/// Component mask bits.
namespace mc_member {
inline constexpr std::uint64_t kMgid = component(&McMemberRecord::mgid);
inline constexpr std::uint64_t kPortGid = component(&McMemberRecord::port_gid);
inline constexpr std::uint64_t kQKey = component(&McMemberRecord::qkey);
inline constexpr std::uint64_t kMlid = component(&McMemberRecord::mlid);
inline constexpr std::uint64_t kMtuSelector = component(&McMemberRecord::mtu_selector);
inline constexpr std::uint64_t kMtu = component(&McMemberRecord::mtu);
inline constexpr std::uint64_t kTClass = component(&McMemberRecord::tclass);
inline constexpr std::uint64_t kPKey = component(&McMemberRecord::pkey);
inline constexpr std::uint64_t kRateSelector = component(&McMemberRecord::rate_selector);
inline constexpr std::uint64_t kRate = component(&McMemberRecord::rate);
inline constexpr std::uint64_t kPacketLifeTimeSelector =
    component(&McMemberRecord::packet_life_time_selector);
inline constexpr std::uint64_t kPacketLifeTime = component(&McMemberRecord::packet_life_time);
inline constexpr std::uint64_t kSl = component(&McMemberRecord::sl);
inline constexpr std::uint64_t kFlowLabel = component(&McMemberRecord::flow_label);
inline constexpr std::uint64_t kHopLimit = component(&McMemberRecord::hop_limit);
inline constexpr std::uint64_t kScope = component(&McMemberRecord::scope);
inline constexpr std::uint64_t kJoinState = component(&McMemberRecord::join_state);
inline constexpr std::uint64_t kProxyJoin = component(&McMemberRecord::proxy_join);
}  // namespace mc_member

}  // namespace softib::wire
