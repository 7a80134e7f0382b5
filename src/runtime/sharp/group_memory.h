// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory that the members of a SHARP group share on the direct path, made by the daemon when
// the switches' tables have the group. Members are the switches here (ADR 26) and reduce by the
// steps that the daemon took from those tables (core/sharp/program.h).
//
// Operations are cut into turns of at most kWindowBytes. Turn t has slot t % kSlots. A slot belongs
// to a turn until all members have left it (MemberLine::left), so a member that has not left finds
// its turn unchanged.
//
// A vector of at most kLineBytes goes with its member's announcement: every member reads those of
// all others and reduces for itself. No cache line has two writers, so the way from the last to
// arrive to any other member is one line. With larger vectors, or more than kLineMembers members,
// members put their data into the slot and count themselves; whoever comes last, with those who
// wait, reduces all of it, and the others read the result.
//
// Crash rule: a member may die anywhere. The daemon then writes GroupHeader::error, which every
// wait looks at; nothing in here is used again.
//
// On the packet path members share nothing: each posts its turns (PostedTurn), and the carrier,
// which is every program's HCA, sends their data to the aggregation nodes and writes what comes
// back where the data were. No slot belongs to a turn of the group then.
//
// Counter rule: a member writes its own MemberLine, also where it counts a turn for all: the one
// who completes it does, or the first member where each completes it for itself. The daemon only
// reads them, and adds what is new to the ports' totals.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/hca/packets.h"
#include "core/sharp/program.h"

namespace softib::live {

inline constexpr std::uint64_t kGroupMagic = 0x736F667473687270;  // "softshrp"
inline constexpr std::uint32_t kGroupVersion = 3;
inline constexpr std::uint32_t kSlots = 16;
inline constexpr std::uint32_t kWindowBytes = 64U << 10;
inline constexpr std::uint32_t kSmallBytes = 1024;
inline constexpr std::uint32_t kStretchBytes = 4U << 10;
/// What an announcement has room for, and how many members read each other's: reading is a square.
inline constexpr std::uint32_t kLineBytes = 104;
inline constexpr std::uint32_t kLineMembers = 32;
/// What one member writes and others read: processors fetch lines of 64 bytes in pairs.
inline constexpr std::size_t kApartBytes = 128;
/// Not a power of two: members' data would all fall into the same sets of the caches.
inline constexpr std::uint64_t kWindowStride = kWindowBytes + 4096 + 64;
inline constexpr std::uint64_t kSmallStride = kSmallBytes + 64;

/// Queue pairs by which HCAs of members are in a tree. Programs' own have such numbers only when a
/// fabric has half a million of them.
inline constexpr std::uint32_t kMemberQpnLast = 0x8FFFFF;
inline constexpr std::uint32_t kMemberQpns = 1U << 19;
constexpr bool is_member_qpn(std::uint32_t qpn) {
    return qpn <= kMemberQpnLast && kMemberQpnLast - qpn < kMemberQpns;
}

/// Packets and words that something counted.
struct WireCount {
    std::atomic<std::uint64_t> packets;
    std::atomic<std::uint64_t> words;
};

/// What one member writes: its packets at the ports they pass, and how far it is.
struct alignas(kApartBytes) MemberLine {
    WireCount sent;       ///< By its HCA's port,
    WireCount received;   ///< and to it.
    WireCount only_up;    ///< Data of this member alone, on its way to the root.
    WireCount only_down;  ///< Data for this member alone, on its way from the root.
    WireCount all_up;     ///< At every cable of the tree between switches, in turns that this
    WireCount all_down;   ///< member has counted for all.
    std::atomic<std::uint64_t> left;  ///< It has left all turns before this one.
};

enum class LockState : std::uint32_t { kUnknown = 0, kAsking = 1, kLocked = 2, kRefused = 3 };

struct alignas(64) GroupHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t members;
    std::uint32_t steps;  ///< sharp::Step each.
    std::uint32_t stack_depth;
    std::uint32_t ost_payload_bytes;
    std::uint32_t mtu_bytes;
    std::uint64_t steps_off;
    std::uint64_t counts_off;  ///< MemberLine each.
    std::uint64_t slots_off;
    std::uint64_t posts_off;  ///< kSlots PostedTurn for each member; 0: the direct path.
    std::uint64_t total_bytes;

    alignas(64) std::atomic<std::int32_t> error;  ///< sharp::Error of the job; 0: it works.
    alignas(64) std::atomic<std::uint32_t> lock;  ///< LockState.
    std::atomic<std::uint32_t> lock_epoch;        ///< Counts refusals.
    std::atomic<std::uint32_t> lock_seen;         ///< Members that know of the last refusal.
};

enum class Stage : std::uint64_t {
    kReducing = 1,  ///< All have come: who waits takes stretches.
    kComplete = 2,
};

/// What Slot::state has for a stage of a turn. Nobody takes it back: that of a later turn is
/// another.
constexpr std::uint64_t slot_state(std::uint64_t turn, Stage stage) {
    return turn << 2 | static_cast<std::uint64_t>(stage);
}

/// Who waits looks at the first line alone, which changes twice in a turn; who comes counts in the
/// second. Whoever comes last makes the second ready for the next turn.
struct alignas(kApartBytes) Slot {
    std::atomic<std::uint64_t> state;
    alignas(kApartBytes) std::atomic<std::uint64_t> signature;  ///< 0: nobody has come yet.
    std::atomic<std::uint32_t> arrived;
    std::atomic<std::uint32_t> next_chunk;
    std::atomic<std::uint32_t> done_chunks;
};

/// What a member says when it enters a turn, whoever reduces: members that do different things find
/// out here.
struct alignas(kApartBytes) Announcement {
    std::atomic<std::uint64_t> turn;  ///< Its number + 1; then the rest is there.
    std::uint64_t signature;          ///< Of the operation.
    std::uint32_t offset;             ///< The part of the vector that the member gives,
    std::uint32_t bytes;              ///< if it goes with the announcement.
    std::byte data[kLineBytes];
};
static_assert(sizeof(Announcement) == kApartBytes);

/// A turn that a member has entered on the packet path.
struct alignas(64) PostedTurn {
    std::atomic<std::uint64_t> posted;  ///< Its number + 1; then the rest is there,
    std::atomic<std::uint64_t> done;    ///< and the same when the carrier has done it.
    std::uint32_t bytes;                ///< Of the vector.
    std::uint8_t streaming;
    std::uint8_t data_type;  ///< sharp::Reduction.
    std::uint8_t reduce_op;
    std::uint8_t tag_type;
    std::uint32_t give_begin;  ///< What the member contributes,
    std::uint32_t give_end;
    std::uint32_t take_begin;  ///< and what it wants.
    std::uint32_t take_end;
};
static_assert(sizeof(PostedTurn) == 64);
constexpr std::uint64_t posts_bytes(std::uint64_t members) {
    return members * kSlots * sizeof(PostedTurn);
}

/// Where the parts of a slot stand, from its beginning: members' announcements, then member m's
/// data, then the result.
struct SlotLayout {
    explicit constexpr SlotLayout(std::uint32_t members) : members_(members) {}

    static constexpr std::uint64_t announcement(std::uint64_t member) {
        return sizeof(Slot) + member * sizeof(Announcement);
    }
    constexpr std::uint64_t data(std::uint32_t bytes, std::uint64_t member) const {
        const std::uint64_t small = announcement(members_);
        return bytes <= kSmallBytes
                   ? small + member * kSmallStride
                   : small + (members_ + 1) * kSmallStride + member * kWindowStride;
    }
    constexpr std::uint64_t result(std::uint32_t bytes) const { return data(bytes, members_); }
    constexpr std::uint64_t stride(std::uint32_t bytes) const {
        return bytes <= kSmallBytes ? kSmallStride : kWindowStride;
    }
    constexpr std::uint64_t bytes() const {
        return (announcement(members_) + (members_ + 1) * (kSmallStride + kWindowStride) + 4095) /
               4096 * 4096;
    }

  private:
    std::uint64_t members_;
};

/// What a vector costs on a link: datagrams of one OST each, or packets that stream.
hca::WireCost wire_cost(const GroupHeader& header, std::uint64_t bytes, bool streaming);

inline void count(WireCount& counter, const hca::WireCost& cost) {
    // One writer: no locked instruction.
    counter.packets.store(counter.packets.load(std::memory_order_relaxed) + cost.packets,
                          std::memory_order_relaxed);
    counter.words.store(counter.words.load(std::memory_order_relaxed) + cost.words,
                        std::memory_order_relaxed);
}

}  // namespace softib::live
