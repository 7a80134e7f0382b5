// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory that the members of a SHARP group share on the direct path. The daemon makes it once
// the switches' tables have the group. Here the members do what switches would do (ADR 26): they
// reduce by the steps that the daemon took from those tables (core/sharp/program.h).
//
// Operations are cut into turns of at most kWindowBytes. Turn t uses slot t % kSlots. A slot
// belongs to a turn until all members have left the turn (MemberLine::left), so a member that has
// not left finds the slot unchanged.
//
// A vector of at most kLineBytes goes with its member's announcement: every member reads the
// announcements of all others and reduces for itself. No cache line has two writers, so that only
// one line must travel from the last member that arrives to any other member. With larger vectors,
// or more than kLineMembers members, members copy their data into the slot and count themselves as
// arrived. The last one to arrive reduces all of it, helped by members that wait, and the others
// read the result.
//
// Crash rule: a member may die anywhere. The daemon then writes GroupHeader::error, which members
// read whenever they wait; the memory is not used again.
//
// On the packet path no member reads what another has written. Each one posts its turns
// (PostedTurn), and the carrier, which is every program's HCA, sends their data to the aggregation
// nodes and writes the result over the data. Each member then has its part of a slot for itself,
// until it has left the turn.
//
// Counter rule: a member writes only its own MemberLine. The counters of a turn that stand for all
// members are written by the member that completes the turn or, where each member completes it for
// itself, by the first one. The daemon only reads the lines, and adds what is new to the ports'
// totals.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/hca/packets.h"
#include "core/sharp/program.h"

namespace softib::sharp {

inline constexpr std::uint64_t kGroupMagic = 0x736F667473687270;  // "softshrp"
inline constexpr std::uint32_t kGroupVersion = 3;
inline constexpr std::uint32_t kSlots = 16;
inline constexpr std::uint32_t kWindowBytes = 64U << 10;
inline constexpr std::uint32_t kSmallBytes = 1024;
inline constexpr std::uint32_t kStretchBytes = 4U << 10;
/// The largest vector that goes with an announcement.
inline constexpr std::uint32_t kLineBytes = 104;
/// The largest group whose members read each other's announcements: the number of reads grows with
/// the square.
inline constexpr std::uint32_t kLineMembers = 32;
/// The alignment of data that one member writes and others read: processors fetch lines of 64 bytes
/// in pairs.
inline constexpr std::size_t kApartBytes = 128;
/// The distance between two members' data in a slot. It is no power of two, because members' data
/// would then all fall into the same sets of the caches.
inline constexpr std::uint64_t kWindowStride = kWindowBytes + 4096 + 64;
inline constexpr std::uint64_t kSmallStride = kSmallBytes + 64;

/// The highest QPN of the queue pairs that connect members' HCAs to trees.
inline constexpr std::uint32_t kMemberQpnLast = 0x8FFFFF;
/// The number of QPNs, up to kMemberQpnLast, for members' connections to trees. Programs' queue
/// pairs have such QPNs only when a fabric has half a million of them.
inline constexpr std::uint32_t kMemberQpns = 1U << 19;
/// Returns whether a QPN is one for members' connections to trees.
constexpr bool is_member_qpn(std::uint32_t qpn) {
    return qpn <= kMemberQpnLast && kMemberQpnLast - qpn < kMemberQpns;
}

/// A count of packets, and of their 32-bit words.
struct WireCount {
    std::atomic<std::uint64_t> packets;
    std::atomic<std::uint64_t> words;
};

/// What one member writes: counts of its packets at the ports that they pass, and its progress.
struct alignas(kApartBytes) MemberLine {
    WireCount sent;       ///< Packets that the port of the member's HCA has sent.
    WireCount received;   ///< Packets that the port of the member's HCA has received.
    WireCount only_up;    ///< Data of this member alone, on its way to the root.
    WireCount only_down;  ///< Data for this member alone, on its way from the root.
    /// Packets up each cable between switches of the tree, in turns that this member has counted
    /// for all.
    WireCount all_up;
    /// Packets down each cable between switches of the tree, in turns that this member has counted
    /// for all.
    WireCount all_down;
    std::atomic<std::uint64_t> left;  ///< The first turn that the member has not left.
};

enum class LockState : std::uint32_t { kUnknown = 0, kAsking = 1, kLocked = 2, kRefused = 3 };

struct alignas(64) GroupHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t members;
    std::uint32_t steps;  ///< Number of sharp::Step at steps_off.
    std::uint32_t stack_depth;
    std::uint32_t ost_payload_bytes;  ///< Payload of a datagram.
    std::uint32_t mtu_bytes;
    std::uint64_t steps_off;
    std::uint64_t counts_off;  ///< Offset of one MemberLine for each member.
    std::uint64_t slots_off;
    std::uint64_t posts_off;  ///< Offset of kSlots PostedTurn for each member; 0: the direct path.
    std::uint64_t total_bytes;

    alignas(64) std::atomic<std::int32_t> error;  ///< Why the job has failed; 0 if it has not.
    alignas(64) std::atomic<std::uint32_t> lock;  ///< A LockState.
    std::atomic<std::uint32_t> lock_epoch;        ///< Number of refused locks.
    std::atomic<std::uint32_t> lock_seen;         ///< Members that know of the last refusal.
};

enum class Stage : std::uint64_t {
    kReducing = 1,  ///< All members have arrived; members that wait take chunks and reduce them.
    kComplete = 2,
};

/// Returns the value of Slot::state for a stage of a turn. No member resets the state, since later
/// turns have other values.
constexpr std::uint64_t slot_state(std::uint64_t turn, Stage stage) {
    return turn << 2 | static_cast<std::uint64_t>(stage);
}

/// How far the turn of a slot is. A member that waits reads only the first line, which changes at
/// most twice in a turn; a member that arrives counts itself in the second. The last one to arrive
/// resets the second line.
struct alignas(kApartBytes) Slot {
    std::atomic<std::uint64_t> state;  ///< A slot_state().
    /// Turn::signature of the first member that arrived; 0 if none has.
    alignas(kApartBytes) std::atomic<std::uint64_t> signature;
    std::atomic<std::uint32_t> arrived;  ///< Members that have copied their data into the slot.
    std::atomic<std::uint32_t> next_chunk;
    std::atomic<std::uint32_t> done_chunks;
};

/// What a member writes when it enters a turn, also where its data go through the slot: members
/// that do different operations in a turn find out here.
struct alignas(kApartBytes) Announcement {
    std::atomic<std::uint64_t> turn;  ///< Number of the turn + 1; the other fields are valid then.
    std::uint64_t signature;          ///< Turn::signature of the operation.
    std::uint32_t offset;             ///< Where in the vector `data` belongs.
    std::uint32_t bytes;              ///< Size of `data`.
    std::byte data[kLineBytes];       ///< The member's contribution, if it fits.
};
static_assert(sizeof(Announcement) == kApartBytes);

/// A turn that a member has entered on the packet path.
struct alignas(64) PostedTurn {
    std::atomic<std::uint64_t> posted;  ///< Number of the turn + 1, once the fields below are set.
    std::atomic<std::uint64_t> done;    ///< Number of the turn + 1, once the carrier has done it.
    std::uint32_t bytes;                ///< Size of the vector.
    std::uint8_t streaming;
    std::uint8_t data_type;    ///< sharp::Reduction::type.
    std::uint8_t reduce_op;    ///< sharp::Reduction::op.
    std::uint8_t tag_type;     ///< sharp::Reduction::tag.
    std::uint32_t give_begin;  ///< First byte that the member contributes.
    std::uint32_t give_end;    ///< End of the bytes that the member contributes.
    std::uint32_t take_begin;  ///< First byte of the result that the member wants.
    std::uint32_t take_end;    ///< End of the bytes of the result that the member wants.
};
static_assert(sizeof(PostedTurn) == 64);
/// Returns the size of all members' posts.
constexpr std::uint64_t posts_bytes(std::uint64_t members) {
    return members * kSlots * sizeof(PostedTurn);
}

/// The offsets of a slot's parts: the members' announcements, then small vectors (at most
/// kSmallBytes) of all members and their result, then the same for larger vectors.
struct SlotLayout {
    explicit constexpr SlotLayout(std::uint32_t members) : members_(members) {}

    static constexpr std::uint64_t announcement(std::uint64_t member) {
        return sizeof(Slot) + member * sizeof(Announcement);
    }
    /// Returns the offset of a member's data, for a vector of `bytes` bytes.
    constexpr std::uint64_t data(std::uint32_t bytes, std::uint64_t member) const {
        const std::uint64_t small = announcement(members_);
        return bytes <= kSmallBytes
                   ? small + member * kSmallStride
                   : small + (members_ + 1) * kSmallStride + member * kWindowStride;
    }
    constexpr std::uint64_t result(std::uint32_t bytes) const { return data(bytes, members_); }
    /// Returns the distance between the data of two members.
    constexpr std::uint64_t stride(std::uint32_t bytes) const {
        return bytes <= kSmallBytes ? kSmallStride : kWindowStride;
    }
    /// Returns the size of a slot.
    constexpr std::uint64_t bytes() const {
        return (announcement(members_) + (members_ + 1) * (kSmallStride + kWindowStride) + 4095) /
               4096 * 4096;
    }

  private:
    std::uint64_t members_;
};

/// Returns what a vector costs on a link: in datagrams of one operation (OST) each, or in streaming
/// packets.
hca::WireCost wire_cost(const GroupHeader& header, std::uint64_t bytes, bool streaming);

inline void count(WireCount& counter, const hca::WireCost& cost) {
    // A counter has one writer, so that no locked instruction is needed.
    counter.packets.store(counter.packets.load(std::memory_order_relaxed) + cost.packets,
                          std::memory_order_relaxed);
    counter.words.store(counter.words.load(std::memory_order_relaxed) + cost.words,
                        std::memory_order_relaxed);
}

}  // namespace softib::sharp
