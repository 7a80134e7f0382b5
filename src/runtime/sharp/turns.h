// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One member's part in the turns of a group (group_memory.h). A member enters a turn with what it
// contributes, reduces or helps to while it waits, and leaves with what it wants of the result. On
// the packet path the carrier does the work between.
//
// Thread rule: one thread at a time.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/sharp/error.h"
#include "core/sharp/program.h"
#include "runtime/sharp/group_memory.h"
#include "runtime/shm/arena.h"

namespace softib::live {

/// Bytes in several pieces.
class PieceList {
  public:
    struct Piece {
        std::byte* at = nullptr;
        std::size_t bytes = 0;
    };
    static constexpr std::size_t kPiecesMax = 15;

    PieceList() = default;
    PieceList(void* at, std::size_t bytes) : count_(1) {
        pieces_[0] = {static_cast<std::byte*>(at), bytes};
    }
    /// At most kPiecesMax.
    void add(void* at, std::size_t bytes) {
        pieces_[count_++] = {static_cast<std::byte*>(at), bytes};
    }
    std::size_t bytes() const;
    void copy_out(std::size_t offset, std::size_t bytes, std::byte* to) const;
    void copy_in(std::size_t offset, std::size_t bytes, const std::byte* from) const;

  private:
    template <typename Fn>
    void for_each(std::size_t offset, std::size_t bytes, Fn&& fn) const;

    Piece pieces_[kPiecesMax];
    std::size_t count_ = 0;
};

struct Turn {
    std::uint32_t bytes = 0;  ///< Of the vector: at most kWindowBytes.
    /// Everybody contributes the whole vector and it is reduced; else each puts its own part there.
    bool reduces = false;
    bool streaming = false;
    sharp::Reduction reduction{};
    std::uint64_t signature = 1;  ///< The same at all members; not 0.
    // This member's part of the vector, from where in its memory.
    std::uint32_t in_offset = 0;
    std::uint32_t in_bytes = 0;
    std::size_t in_at = 0;
    // What it takes of the result.
    std::uint32_t out_offset = 0;
    std::uint32_t out_bytes = 0;
    std::size_t out_at = 0;
    // What is counted: by whoever completes the turn, and by this member.
    hca::WireCost all_up{}, all_down{};
    hca::WireCost sent{}, received{}, only_up{}, only_down{};
};

class Turns {
  public:
    /// Maps the group's memory; `file` stays the caller's. Returns std::nullopt if it is none.
    static std::optional<Turns> map(int file, std::uint32_t rank);
    Turns(Turns&& other) noexcept;
    Turns& operator=(Turns&&) = delete;
    ~Turns();

    const GroupHeader& header() const { return *header_; }
    GroupHeader& header() { return *header_; }
    sharp::Error error() const {
        return static_cast<sharp::Error>(header_->error.load(std::memory_order_relaxed));
    }

    /// Returns false if the slot is still another turn's.
    bool enter(std::uint64_t number, const Turn& turn, const PieceList& in);
    /// Returns false if the turn is not complete, after it has done its share of the work.
    bool leave(std::uint64_t number, const Turn& turn, const PieceList& out);

  private:
    Turns() = default;
    Slot& slot(std::uint64_t number) const;
    MemberLine& line(std::uint32_t member) const { return lines_[member]; }
    Announcement& announcement(std::uint64_t number, std::uint32_t member) const;
    std::byte* part(std::uint64_t number, std::uint64_t offset) const;
    bool has_slot(std::uint64_t number);
    bool goes_with_lines(const Turn& turn) const {
        return turn.bytes <= kLineBytes && members_ <= kLineMembers;
    }
    void announce(std::uint64_t number, const Turn& turn, const PieceList& in);
    bool arrive(std::uint64_t number, const Turn& turn, const PieceList& in);
    void disagree();
    void reduce_chunks(std::uint64_t number, const Turn& turn);
    void complete(std::uint64_t number, const Turn& turn);
    void count_for_all(const Turn& turn);
    bool have_all_announced(std::uint64_t number, const Turn& turn);
    bool put_together(std::uint64_t number, const Turn& turn, const PieceList& out);
    void has_left(std::uint64_t number);

    // On the packet path (turns_packet.cc).
    bool post(std::uint64_t number, const Turn& turn, const PieceList& in);
    bool collect(std::uint64_t number, const Turn& turn, const PieceList& out);
    void wake_carrier() const;

    std::byte* base_ = nullptr;
    GroupHeader* header_ = nullptr;
    MemberLine* lines_ = nullptr;                  ///< Of all members.
    PostedTurn* posts_ = nullptr;                  ///< Of this member, on the packet path.
    const Arena* fabric_ = nullptr;                ///< The same: where the carrier sleeps.
    std::uint64_t left_ = 0;                       ///< All turns before this one are over,
    std::uint32_t left_early_ = 0;                 ///< and later ones whose slots' bits are set.
    std::uint64_t slots_until_ = kSlots;           ///< Turns before this one have their slots.
    std::array<std::uint64_t, kSlots> missing_{};  ///< Members whose announcement is not there.
    std::uint32_t rank_ = 0;
    std::uint32_t members_ = 0;
    std::uint64_t total_bytes_ = 0;
    std::uint64_t slots_off_ = 0;
    std::vector<sharp::Step> steps_;
    std::vector<const std::byte*> contributions_;
    std::vector<std::byte> scratch_;
};

}  // namespace softib::live
