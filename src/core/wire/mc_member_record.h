// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// MCMemberRecord: one port's membership in a multicast group (IBA vol. 1, 15.2.5.17).

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>

#include "core/base/ids.h"
#include "core/wire/bytes.h"

namespace softib::wire {

inline constexpr std::size_t kMcMemberRecordBytes = 52;
/// In a table, records begin at multiples of 8 bytes.
inline constexpr std::uint16_t kMcMemberRecordOffset = 7;

/// Component mask bits.
namespace mc_member {
inline constexpr std::uint64_t kMgid = 1 << 0;
inline constexpr std::uint64_t kPortGid = 1 << 1;
inline constexpr std::uint64_t kQKey = 1 << 2;
inline constexpr std::uint64_t kMlid = 1 << 3;
inline constexpr std::uint64_t kMtuSelector = 1 << 4;
inline constexpr std::uint64_t kMtu = 1 << 5;
inline constexpr std::uint64_t kTClass = 1 << 6;
inline constexpr std::uint64_t kPKey = 1 << 7;
inline constexpr std::uint64_t kRateSelector = 1 << 8;
inline constexpr std::uint64_t kRate = 1 << 9;
inline constexpr std::uint64_t kPacketLifeTimeSelector = 1 << 10;
inline constexpr std::uint64_t kPacketLifeTime = 1 << 11;
inline constexpr std::uint64_t kSl = 1 << 12;
inline constexpr std::uint64_t kFlowLabel = 1 << 13;
inline constexpr std::uint64_t kHopLimit = 1 << 14;
inline constexpr std::uint64_t kScope = 1 << 15;
inline constexpr std::uint64_t kJoinState = 1 << 16;
inline constexpr std::uint64_t kProxyJoin = 1 << 17;
}  // namespace mc_member

/// JoinState bits.
inline constexpr std::uint8_t kJoinFullMember = 1 << 0;
inline constexpr std::uint8_t kJoinNonMember = 1 << 1;
inline constexpr std::uint8_t kJoinSendOnlyNonMember = 1 << 2;
inline constexpr std::uint8_t kJoinSendOnlyFullMember = 1 << 3;

/// How MTU, Rate or PacketLifeTime is meant.
enum class Selector : std::uint8_t { kGreaterThan = 0, kLessThan = 1, kExactly = 2, kBest = 3 };

/// A view of the record. Byte: std::uint8_t, or const for one that only reads.
template <typename Byte>
class McMemberRecord {
  public:
    static std::optional<McMemberRecord> checked(std::span<Byte> bytes) {
        if (bytes.size() < kMcMemberRecordBytes) {
            return std::nullopt;
        }
        return McMemberRecord(bytes.data());
    }
    /// Of a span whose length is known to be enough.
    template <std::size_t N>
        requires(N != std::dynamic_extent && N >= kMcMemberRecordBytes)
    explicit McMemberRecord(std::span<Byte, N> bytes) : at_(bytes.data()) {}

    Gid mgid() const { return gid(at_); }
    Gid port_gid() const { return gid(at_ + 16); }
    QKey qkey() const { return QKey{load_be<std::uint32_t>(at_ + 32)}; }
    Lid mlid() const { return Lid{load_be<std::uint16_t>(at_ + 36)}; }
    Selector mtu_selector() const { return static_cast<Selector>(at_[38] >> 6); }
    std::uint8_t mtu() const { return at_[38] & 0x3F; }
    std::uint8_t tclass() const { return at_[39]; }
    PKey pkey() const { return PKey{load_be<std::uint16_t>(at_ + 40)}; }
    Selector rate_selector() const { return static_cast<Selector>(at_[42] >> 6); }
    std::uint8_t rate() const { return at_[42] & 0x3F; }
    Selector life_time_selector() const { return static_cast<Selector>(at_[43] >> 6); }
    std::uint8_t life_time() const { return at_[43] & 0x3F; }
    std::uint8_t sl() const { return at_[44] >> 4; }
    std::uint32_t flow_label() const { return load_be<std::uint32_t>(at_ + 44) >> 8 & 0xFFFFF; }
    std::uint8_t hop_limit() const { return at_[47]; }
    std::uint8_t scope() const { return at_[48] >> 4; }
    std::uint8_t join_state() const { return at_[48] & 0xF; }
    bool proxy_join() const { return (at_[49] & 0x80) != 0; }

    void set_mgid(const Gid& v) const { set_gid(at_, v); }
    void set_port_gid(const Gid& v) const { set_gid(at_ + 16, v); }
    void set_qkey(QKey v) const { store_be(at_ + 32, v.value); }
    void set_mlid(Lid v) const { store_be(at_ + 36, v.value); }
    void set_mtu(Selector s, std::uint8_t v) const { at_[38] = selected(s, v); }
    void set_tclass(std::uint8_t v) const { at_[39] = v; }
    void set_pkey(PKey v) const { store_be(at_ + 40, v.value); }
    void set_rate(Selector s, std::uint8_t v) const { at_[42] = selected(s, v); }
    void set_life_time(Selector s, std::uint8_t v) const { at_[43] = selected(s, v); }
    void set_sl_flow_hop(std::uint8_t sl, std::uint32_t flow_label, std::uint8_t hop_limit) const {
        store_be(at_ + 44, std::uint32_t{sl} << 28 | (flow_label & 0xFFFFF) << 8 | hop_limit);
    }
    void set_scope_and_join_state(std::uint8_t scope, std::uint8_t join_state) const {
        at_[48] = static_cast<std::uint8_t>(scope << 4 | (join_state & 0xF));
    }
    void set_proxy_join(bool v) const { at_[49] = v ? 0x80 : 0; }
    void clear_reserved() const { at_[50] = at_[51] = 0; }

  private:
    explicit McMemberRecord(Byte* at) : at_(at) {}
    static Gid gid(const std::uint8_t* at) {
        Gid gid;
        std::copy(at, at + gid.bytes.size(), gid.bytes.begin());
        return gid;
    }
    static void set_gid(std::uint8_t* at, const Gid& gid) {
        std::copy(gid.bytes.begin(), gid.bytes.end(), at);
    }
    static std::uint8_t selected(Selector selector, std::uint8_t value) {
        return static_cast<std::uint8_t>(static_cast<unsigned>(selector) << 6 | (value & 0x3F));
    }
    Byte* at_;
};

struct McMemberRecordRepr {
    Gid mgid{};
    Gid port_gid{};
    QKey qkey{};
    Lid mlid{};
    Selector mtu_selector = Selector::kExactly;
    std::uint8_t mtu = 0;  ///< Encoded: 1 is 256 bytes … 5 is 4096.
    std::uint8_t tclass = 0;
    PKey pkey{};
    Selector rate_selector = Selector::kExactly;
    std::uint8_t rate = 0;  ///< Encoded as in PathRecord.
    Selector life_time_selector = Selector::kExactly;
    std::uint8_t life_time = 0;  ///< 4.096 us times two to this.
    std::uint8_t sl = 0;
    std::uint32_t flow_label = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t scope = 0;
    std::uint8_t join_state = 0;
    bool proxy_join = false;

    static McMemberRecordRepr parse(const McMemberRecord<const std::uint8_t>& record);
    void emit(const McMemberRecord<std::uint8_t>& record) const;
    friend bool operator==(const McMemberRecordRepr&, const McMemberRecordRepr&) = default;
};

/// "mgid ff12:… port fe80:… mlid 49152 qkey 0x11111111 pkey 0xffff mtu 5 rate 2 sl 0 join 0x1"
std::string to_string(const McMemberRecordRepr& repr);

}  // namespace softib::wire
