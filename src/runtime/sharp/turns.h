// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One member's part in the turns of a SHARP group (group_memory.h). A member enters a turn with its
// contribution, reduces or helps to reduce while it waits, and leaves with the part of the result
// that it wants. On the packet path the carrier does the work in between.
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

namespace softib::sharp {

/// A program's buffer, in several pieces of memory.
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
    /// Appends a piece. There must be at most kPiecesMax.
    void add(void* at, std::size_t bytes) {
        pieces_[count_++] = {static_cast<std::byte*>(at), bytes};
    }
    std::size_t bytes() const;
    /// Copies bytes of the buffer, from `offset` on, to `to`.
    void copy_out(std::size_t offset, std::size_t bytes, std::byte* to) const;
    /// Copies bytes at `from` into the buffer, from `offset` on.
    void copy_in(std::size_t offset, std::size_t bytes, const std::byte* from) const;

  private:
    template <typename Fn>
    void for_each(std::size_t offset, std::size_t bytes, Fn&& fn) const;

    Piece pieces_[kPiecesMax];
    std::size_t count_ = 0;
};

/// What one member does in a turn: a vector of all members, of which it gives and takes a part.
struct Turn {
    std::uint32_t bytes = 0;  ///< Size of the vector: at most kWindowBytes.
    /// Whether every member contributes a whole vector, and these are reduced; else every member
    /// writes its own part of the vector.
    bool reduces = false;
    bool streaming = false;
    sharp::Reduction reduction{};
    std::uint64_t signature = 1;  ///< Hash of the operation, equal at all members; not 0.
    // The part of the vector that this member contributes, and where it is in the member's buffer.
    std::uint32_t in_offset = 0;
    std::uint32_t in_bytes = 0;
    std::size_t in_at = 0;
    // The part of the result that this member takes, and where it goes in the member's buffer.
    std::uint32_t out_offset = 0;
    std::uint32_t out_bytes = 0;
    std::size_t out_at = 0;
    // Costs that one member counts for all, see MemberLine.
    hca::WireCost all_up{}, all_down{};
    // Costs that this member counts for itself, see MemberLine.
    hca::WireCost sent{}, received{}, only_up{}, only_down{};
};

class Turns {
  public:
    /// Maps the group's memory; the caller keeps `file`. Returns std::nullopt if the file cannot be
    /// mapped or is no valid memory of a group.
    static std::optional<Turns> map(int file, std::uint32_t rank);
    Turns(Turns&& other) noexcept;
    Turns& operator=(Turns&&) = delete;
    ~Turns();

    const GroupHeader& header() const { return *header_; }
    GroupHeader& header() { return *header_; }
    /// Returns why the job has failed; kNone if it has not.
    sharp::Error error() const {
        return static_cast<sharp::Error>(header_->error.load(std::memory_order_relaxed));
    }

    /// Enters a turn with this member's contribution. Returns false, with nothing changed, if the
    /// slot still belongs to an earlier turn.
    bool enter(std::uint64_t number, const Turn& turn, const PieceList& in);
    /// Does this member's share of the work, copies the result and leaves the turn. Returns false
    /// if the turn is not complete yet; the caller then tries again.
    bool leave(std::uint64_t number, const Turn& turn, const PieceList& out);

  private:
    Turns() = default;
    Slot& slot(std::uint64_t number) const;
    MemberLine& line(std::uint32_t member) const { return lines_[member]; }
    Announcement& announcement(std::uint64_t number, std::uint32_t member) const;
    std::byte* part(std::uint64_t number, std::uint64_t offset) const;
    bool has_slot(std::uint64_t number);
    /// Returns whether the members' data go with their announcements.
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
    MemberLine* lines_ = nullptr;         ///< Lines of all members.
    PostedTurn* posts_ = nullptr;         ///< This member's posts; nullptr on the direct path.
    const shm::Arena* fabric_ = nullptr;  ///< The arena, to wake the carrier; packet path only.
    std::uint64_t left_ = 0;              ///< The first turn that this member has not left.
    std::uint32_t left_early_ = 0;        ///< Slots of turns after left_ that it has left, as bits.
    std::uint64_t slots_until_ = kSlots;  ///< All turns before this one may use their slots.
    /// Members whose announcement has not been seen, as bits, by slot.
    std::array<std::uint64_t, kSlots> missing_{};
    std::uint32_t rank_ = 0;
    std::uint32_t members_ = 0;
    std::uint64_t total_bytes_ = 0;
    std::uint64_t slots_off_ = 0;
    std::vector<sharp::Step> steps_;
    std::vector<const std::byte*> contributions_;
    std::vector<std::byte> scratch_;
};

}  // namespace softib::sharp
