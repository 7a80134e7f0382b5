// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/capture.h"

#include <time.h>

#include <algorithm>
#include <cstring>

namespace softib::shm {

namespace {

struct Record {
    std::uint64_t time_ns;
    std::uint32_t wire_bytes;
    std::uint32_t kept_bytes;
};

constexpr std::uint64_t kAlign = 8;
constexpr std::uint64_t kRingPatienceNs = 1'000'000;

std::uint64_t record_bytes(std::uint64_t kept) {
    return (sizeof(Record) + kept + kAlign - 1) / kAlign * kAlign;
}

/// Calls move(bytes of the ring, their offset from `at`) for the one or two stretches of the ring
/// that hold the positions [at, at + n).
template <typename Fn>
void for_each_part(const Arena& arena, const CaptureSlot& slot, std::uint64_t at, std::uint64_t n,
                   Fn&& move) {
    const std::uint64_t begin = at & (slot.ring_bytes - 1);
    const std::uint64_t first = std::min(n, slot.ring_bytes - begin);
    move(std::span(arena.base + slot.ring_off + begin, first), 0);
    if (first != n) {
        move(std::span(arena.base + slot.ring_off, n - first), first);
    }
}

void write_ring(const Arena& arena, const CaptureSlot& slot, std::uint64_t at, const void* from,
                std::uint64_t n) {
    for_each_part(arena, slot, at, n, [&](std::span<std::byte> to, std::uint64_t offset) {
        std::memcpy(to.data(), static_cast<const std::byte*>(from) + offset, to.size());
    });
}

void read_ring(const Arena& arena, const CaptureSlot& slot, std::uint64_t at, void* to,
               std::uint64_t n) {
    for_each_part(arena, slot, at, n, [&](std::span<std::byte> from, std::uint64_t offset) {
        std::memcpy(static_cast<std::byte*>(to) + offset, from.data(), from.size());
    });
}

std::uint64_t realtime_ns() {
    timespec t{};
    clock_gettime(CLOCK_REALTIME, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_nsec);
}

void put_locked(const Arena& arena, CaptureSlot& slot, std::span<const std::uint8_t> bytes) {
    const std::uint64_t kept = std::min<std::uint64_t>(bytes.size(), slot.snap_bytes);
    const std::uint64_t at = slot.written.load(std::memory_order_relaxed);
    const std::uint64_t used = at - slot.read.load(std::memory_order_acquire);
    if (used > slot.ring_bytes || slot.ring_bytes - used < record_bytes(kept)) {
        slot.missed.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const Record record{realtime_ns(), static_cast<std::uint32_t>(bytes.size()),
                        static_cast<std::uint32_t>(kept)};
    write_ring(arena, slot, at, &record, sizeof record);
    write_ring(arena, slot, at + sizeof record, bytes.data(), kept);
    slot.written.store(at + record_bytes(kept), std::memory_order_release);
}

}  // namespace

void capture_put(const Arena& arena, CaptureSlot& slot, LockWord me,
                 std::span<const std::uint8_t> bytes) {
    if (!shm_lock(arena, slot.lock, me, kRingPatienceNs).taken) {
        slot.missed.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    put_locked(arena, slot, bytes);
    shm_unlock(slot.lock);
}

bool capture_get(const Arena& arena, CaptureSlot& slot, CapturedPacket& out) {
    const std::uint64_t at = slot.read.load(std::memory_order_relaxed);
    if (at == slot.written.load(std::memory_order_acquire)) {
        return false;
    }
    Record record{};
    read_ring(arena, slot, at, &record, sizeof record);
    out.time_ns = record.time_ns;
    out.wire_bytes = record.wire_bytes;
    out.bytes.resize(std::min<std::uint64_t>(record.kept_bytes, slot.ring_bytes));
    read_ring(arena, slot, at + sizeof record, out.bytes.data(), out.bytes.size());
    slot.read.store(at + record_bytes(out.bytes.size()), std::memory_order_release);
    return true;
}

}  // namespace softib::shm
