// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Allocation in the arena. Ownership is one word per batch of table entries or per chunk of
// memory, taken by compare-and-swap: no lock that a dying process could hold, and the daemon
// finds what a dead process owned by reading the words. Everything finer is kept in the owning
// process alone.

#include <mutex>
#include <vector>

#include "runtime/shm/arena.h"

namespace softib::live {

inline constexpr std::uint32_t kNoEntry = UINT32_MAX;

/// Entries of one table. Thread-safe.
class TableAllocator {
  public:
    void init(std::atomic<Owner>* batches, std::uint32_t entries_max, Owner owner);
    std::uint32_t allocate();  ///< kNoEntry when the table is full.
    void release(std::uint32_t entry);

  private:
    bool claim_batch();

    std::mutex mutex_;
    std::atomic<Owner>* batches_ = nullptr;
    std::uint32_t batch_count_ = 0;
    std::uint32_t next_batch_ = 0;
    Owner owner_ = 0;
    std::vector<std::uint32_t> free_;
    std::size_t free_head_ = 0;  ///< Freed entries are reused last, so that stale names stay wrong.
};

/// Memory of the arena. Offsets, never pointers. Thread-safe.
class ChunkAllocator {
  public:
    void init(const Arena* arena, Owner owner);

    /// Zeroed memory at a chunk boundary; 0 when the arena is full.
    std::uint64_t allocate_pages(std::uint64_t bytes);
    void release_pages(std::uint64_t off, std::uint64_t bytes);

    /// Small or large zeroed memory, aligned to 64 bytes; 0 when the arena is full.
    std::uint64_t allocate(std::uint64_t bytes);
    void release(std::uint64_t off, std::uint64_t bytes);

  private:
    static constexpr unsigned kClassMin = 6;   // 64 bytes
    static constexpr unsigned kClassMax = 15;  // 32 KiB
    bool claim(std::uint32_t first, std::uint32_t count);

    std::mutex mutex_;
    const Arena* arena_ = nullptr;
    Owner owner_ = 0;
    std::uint32_t cursor_ = 0;
    std::vector<std::uint64_t> free_[kClassMax + 1];
};

}  // namespace softib::live
