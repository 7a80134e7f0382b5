// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/sharp/turns.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "runtime/shm/observe.h"
#include "runtime/shm/program_place.h"

namespace softib::sharp {

hca::WireCost wire_cost(const GroupHeader& header, std::uint64_t bytes, bool streaming) {
    constexpr std::uint64_t kHeaderBytes = 32;  // SharpDataHeader.
    const auto format = hca::make_wire_format(hca::QpType::kRc, false, header.mtu_bytes);
    const std::uint64_t payload = std::max<std::uint64_t>(
        streaming ? header.mtu_bytes - kHeaderBytes : header.ost_payload_bytes, 1);
    const std::uint64_t full = bytes / payload;
    const std::uint64_t rest = bytes % payload;
    const auto one = hca::request_cost(format, hca::WireOp::kSend, kHeaderBytes + payload);
    hca::WireCost cost{full * one.packets, full * one.words};
    if (rest != 0 || full == 0) {
        const auto last = hca::request_cost(format, hca::WireOp::kSend, kHeaderBytes + rest);
        cost.packets += last.packets;
        cost.words += last.words;
    }
    return cost;
}

template <typename Fn>
void PieceList::for_each(std::size_t offset, std::size_t bytes, Fn&& fn) const {
    std::size_t done = 0;
    for (std::size_t i = 0; i < count_ && done < bytes; ++i) {
        if (offset >= pieces_[i].bytes) {
            offset -= pieces_[i].bytes;
            continue;
        }
        const std::size_t here = std::min(bytes - done, pieces_[i].bytes - offset);
        fn(pieces_[i].at + offset, done, here);
        done += here;
        offset = 0;
    }
}

std::size_t PieceList::bytes() const {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        sum += pieces_[i].bytes;
    }
    return sum;
}

void PieceList::copy_out(std::size_t offset, std::size_t bytes, std::byte* to) const {
    for_each(offset, bytes, [&](const std::byte* at, std::size_t done, std::size_t here) {
        std::memcpy(to + done, at, here);
    });
}

void PieceList::copy_in(std::size_t offset, std::size_t bytes, const std::byte* from) const {
    for_each(offset, bytes, [&](std::byte* at, std::size_t done, std::size_t here) {
        std::memcpy(at, from + done, here);
    });
}

std::optional<Turns> Turns::map(int file, std::uint32_t rank) {
    struct stat st{};
    if (fstat(file, &st) != 0 || st.st_size < static_cast<off_t>(sizeof(GroupHeader))) {
        return std::nullopt;
    }
    const auto bytes = static_cast<std::uint64_t>(st.st_size);
    void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        return std::nullopt;
    }
    Turns turns;
    turns.base_ = static_cast<std::byte*>(at);
    turns.total_bytes_ = bytes;
    auto* const header = reinterpret_cast<GroupHeader*>(at);
    turns.header_ = header;
    turns.members_ = header->members;
    turns.rank_ = rank;
    turns.slots_off_ = header->slots_off;
    const SlotLayout layout(turns.members_);
    if (header->magic != kGroupMagic || header->version != kGroupVersion ||
        header->total_bytes != bytes || rank >= turns.members_ ||
        header->steps_off + header->steps * sizeof(sharp::Step) > header->counts_off ||
        header->counts_off + turns.members_ * sizeof(MemberLine) > turns.slots_off_ ||
        turns.slots_off_ + kSlots * layout.bytes() > bytes ||
        header->posts_off + (header->posts_off == 0 ? 0 : posts_bytes(turns.members_)) > bytes) {
        return std::nullopt;
    }
    if (header->posts_off != 0) {
        turns.posts_ = reinterpret_cast<PostedTurn*>(turns.base_ + header->posts_off) +
                       std::size_t{rank} * kSlots;
        turns.fabric_ = &shm::observe_for_life(shm::program_place().dir);
    }
    turns.lines_ = reinterpret_cast<MemberLine*>(turns.base_ + header->counts_off);
    const auto* const first = reinterpret_cast<const sharp::Step*>(turns.base_ + header->steps_off);
    turns.steps_.assign(first, first + header->steps);
    const std::size_t depth = sharp::stack_depth(turns.steps_, turns.members_);
    if (depth == 0) {
        return std::nullopt;
    }
    turns.scratch_.resize((depth - 1) * std::size_t{kStretchBytes});
    turns.contributions_.resize(turns.members_);
    return turns;
}

Turns::Turns(Turns&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      header_(other.header_),
      lines_(other.lines_),
      posts_(other.posts_),
      fabric_(other.fabric_),
      left_(other.left_),
      left_early_(other.left_early_),
      slots_until_(other.slots_until_),
      missing_(other.missing_),
      rank_(other.rank_),
      members_(other.members_),
      total_bytes_(other.total_bytes_),
      slots_off_(other.slots_off_),
      steps_(std::move(other.steps_)),
      contributions_(std::move(other.contributions_)),
      scratch_(std::move(other.scratch_)) {}

Turns::~Turns() {
    if (base_ != nullptr) {
        munmap(base_, total_bytes_);
    }
}

std::byte* Turns::part(std::uint64_t number, std::uint64_t offset) const {
    return base_ + slots_off_ + number % kSlots * SlotLayout(members_).bytes() + offset;
}

Slot& Turns::slot(std::uint64_t number) const {
    return *reinterpret_cast<Slot*>(part(number, 0));
}

Announcement& Turns::announcement(std::uint64_t number, std::uint32_t member) const {
    return *reinterpret_cast<Announcement*>(part(number, SlotLayout::announcement(member)));
}

/// Returns whether the slot belongs to this turn: all members have left the turn before it there.
bool Turns::has_slot(std::uint64_t number) {
    if (number >= slots_until_) {
        std::uint64_t left_by_all = UINT64_MAX - kSlots;
        for (std::uint32_t member = 0; member < members_; ++member) {
            left_by_all = std::min(left_by_all, line(member).left.load(std::memory_order_acquire));
        }
        slots_until_ = left_by_all + kSlots;
    }
    return number < slots_until_;
}

bool Turns::enter(std::uint64_t number, const Turn& turn, const PieceList& in) {
    if (posts_ != nullptr) {
        return post(number, turn, in);
    }
    if (!has_slot(number)) {
        return false;
    }
    count(line(rank_).sent, turn.sent);
    count(line(rank_).only_up, turn.only_up);
    const bool with_lines = goes_with_lines(turn);
    if (with_lines && rank_ == 0) {
        count_for_all(turn);
    }
    announce(number, turn, in);
    return with_lines || arrive(number, turn, in);
}

/// Announces to all members that this one has entered, with its data if they are small enough.
void Turns::announce(std::uint64_t number, const Turn& turn, const PieceList& in) {
    Announcement& mine = announcement(number, rank_);
    mine.signature = turn.signature;
    if (goes_with_lines(turn)) {
        mine.offset = turn.in_offset;
        mine.bytes = turn.in_bytes;
        in.copy_out(turn.in_at, turn.in_bytes, mine.data);
        const std::uint64_t all = (std::uint64_t{1} << members_) - 1;
        missing_[number % kSlots] = all & ~(std::uint64_t{1} << rank_);
    }
    mine.turn.store(number + 1, std::memory_order_release);
}

/// Fails the job, because its members disagree about an operation.
void Turns::disagree() {
    header_->error.store(static_cast<std::int32_t>(sharp::Error::kInvalid),
                         std::memory_order_relaxed);
}

/// Copies this member's data into the slot and counts it as arrived. The last member to arrive
/// completes the turn, or begins the reduction.
bool Turns::arrive(std::uint64_t number, const Turn& turn, const PieceList& in) {
    Slot& at = slot(number);
    const SlotLayout layout(members_);
    std::uint64_t signature = at.signature.load(std::memory_order_relaxed);
    if (signature != turn.signature &&
        (signature != 0 || !at.signature.compare_exchange_strong(signature, turn.signature,
                                                                 std::memory_order_relaxed)) &&
        signature != turn.signature) {
        disagree();
        return true;
    }
    if (turn.in_bytes != 0) {
        const std::uint64_t to = turn.reduces ? layout.data(turn.bytes, rank_)
                                              : layout.result(turn.bytes) + turn.in_offset;
        in.copy_out(turn.in_at, turn.in_bytes, part(number, to));
    }
    if (at.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 != members_) {
        return true;
    }
    // No member reads these before the stage is stored below, or before the slot belongs to another
    // turn.
    at.signature.store(0, std::memory_order_relaxed);
    at.arrived.store(0, std::memory_order_relaxed);
    at.next_chunk.store(0, std::memory_order_relaxed);
    at.done_chunks.store(0, std::memory_order_relaxed);
    if (!turn.reduces || turn.bytes == 0) {
        complete(number, turn);
    } else if (turn.bytes <= kStretchBytes) {
        reduce_chunks(number, turn);
    } else {
        at.state.store(slot_state(number, Stage::kReducing), std::memory_order_release);
    }
    return true;
}

/// Reduces chunks that no other member has taken. The member that does the last one completes the
/// turn.
void Turns::reduce_chunks(std::uint64_t number, const Turn& turn) {
    Slot& at = slot(number);
    const SlotLayout layout(members_);
    // A chunk has whole elements, whose size need not divide kStretchBytes: 12 bytes in a MINLOC.
    const auto element = static_cast<std::uint32_t>(turn.reduction.element_bytes());
    const std::uint32_t chunk_bytes = kStretchBytes / element * element;
    const std::uint32_t chunks = (turn.bytes + chunk_bytes - 1) / chunk_bytes;
    while (at.next_chunk.load(std::memory_order_relaxed) < chunks) {
        const std::uint32_t chunk = at.next_chunk.fetch_add(1, std::memory_order_relaxed);
        if (chunk >= chunks) {
            return;
        }
        const std::uint32_t from = chunk * chunk_bytes;
        const std::uint32_t bytes = std::min(chunk_bytes, turn.bytes - from);
        const std::byte* const first = part(number, layout.data(turn.bytes, 0) + from);
        for (std::uint32_t member = 0; member < members_; ++member) {
            contributions_[member] = first + member * layout.stride(turn.bytes);
        }
        sharp::execute(steps_, turn.reduction, contributions_,
                       {part(number, layout.result(turn.bytes) + from), bytes}, scratch_);
        if (at.done_chunks.fetch_add(1, std::memory_order_acq_rel) + 1 == chunks) {
            complete(number, turn);
        }
    }
}

void Turns::count_for_all(const Turn& turn) {
    count(line(rank_).all_up, turn.all_up);
    count(line(rank_).all_down, turn.all_down);
}

void Turns::complete(std::uint64_t number, const Turn& turn) {
    count_for_all(turn);
    slot(number).state.store(slot_state(number, Stage::kComplete), std::memory_order_release);
}

/// Returns whether all members have announced the turn. It reads the announcements of all members
/// that were missing at the last call, not only of the first one: the processor then fetches what
/// has come while the member waits for others.
bool Turns::have_all_announced(std::uint64_t number, const Turn& turn) {
    std::uint64_t& missing = missing_[number % kSlots];
    for (std::uint64_t rest = missing; rest != 0; rest &= rest - 1) {
        const auto member = static_cast<std::uint32_t>(std::countr_zero(rest));
        const Announcement& said = announcement(number, member);
        if (said.turn.load(std::memory_order_acquire) != number + 1) {
            continue;
        }
        if (said.signature != turn.signature) {
            disagree();
            return false;
        }
        missing &= ~(std::uint64_t{1} << member);
    }
    return missing == 0;
}

/// Makes the result from all members' announcements, as every other member does for itself. Returns
/// false if a member has announced data outside the vector.
bool Turns::put_together(std::uint64_t number, const Turn& turn, const PieceList& out) {
    if (turn.out_bytes == 0) {
        return true;
    }
    alignas(64) std::array<std::byte, kLineBytes> result{};
    for (std::uint32_t member = 0; member < members_; ++member) {
        const Announcement& said = announcement(number, member);
        contributions_[member] = said.data;
        if (!turn.reduces) {
            const std::uint32_t offset = said.offset;
            const std::uint32_t bytes = said.bytes;
            if (offset > turn.bytes || bytes > turn.bytes - offset) {
                disagree();
                return false;
            }
            std::memcpy(result.data() + offset, said.data, bytes);
        }
    }
    if (turn.reduces) {
        sharp::execute(steps_, turn.reduction, contributions_, {result.data(), turn.bytes},
                       scratch_);
    }
    out.copy_in(turn.out_at, turn.out_bytes, result.data() + turn.out_offset);
    return true;
}

bool Turns::leave(std::uint64_t number, const Turn& turn, const PieceList& out) {
    if (posts_ != nullptr) {
        return collect(number, turn, out);
    }
    if (goes_with_lines(turn)) {
        if (!have_all_announced(number, turn) || !put_together(number, turn, out)) {
            return false;
        }
    } else {
        Slot& at = slot(number);
        if (at.state.load(std::memory_order_acquire) == slot_state(number, Stage::kReducing)) {
            reduce_chunks(number, turn);
        }
        if (at.state.load(std::memory_order_acquire) != slot_state(number, Stage::kComplete)) {
            return false;
        }
        if (turn.out_bytes != 0) {
            out.copy_in(turn.out_at, turn.out_bytes,
                        part(number, SlotLayout(members_).result(turn.bytes) + turn.out_offset));
        }
    }
    count(line(rank_).received, turn.received);
    count(line(rank_).only_down, turn.only_down);
    has_left(number);
    return true;
}

/// Notes that this member has left a turn. Turns may be left in another order than that in which
/// they were entered.
void Turns::has_left(std::uint64_t number) {
    const auto bit = [](std::uint64_t turn) { return 1U << turn % kSlots; };
    left_early_ |= bit(number);
    while ((left_early_ & bit(left_)) != 0) {
        left_early_ &= ~bit(left_);
        ++left_;
    }
    line(rank_).left.store(left_, std::memory_order_release);
}

}  // namespace softib::sharp
