// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Allocation in the arena. Each batch of table entries and each chunk of memory has one word in the
// arena that names its owner. A process takes it by compare-and-swap, so there is no lock that a
// dying process could hold, and the daemon reads the words to find what a dead process owned. Which
// entries of a batch and which parts of a chunk are free, only the owning process knows.

#include <mutex>
#include <vector>

#include "runtime/shm/arena.h"

namespace softib::shm {

inline constexpr std::uint32_t kNoEntry = UINT32_MAX;

/// Allocates entries of one table for one process. Thread-safe.
class TableAllocator {
  public:
    void init(std::atomic<Owner>* batches, std::uint32_t entries_max, Owner owner);
    std::uint32_t allocate();  ///< Returns kNoEntry if the table is full.
    void release(std::uint32_t entry);

  private:
    bool claim_batch();  ///< Returns false if every batch has an owner.

    std::mutex mutex_;
    std::atomic<Owner>* batches_ = nullptr;
    std::uint32_t batch_count_ = 0;
    std::uint32_t next_batch_ = 0;
    Owner owner_ = 0;
    std::vector<std::uint32_t> free_;
    /// Start of the list. Freed entries go to its end, so that stale numbers stay invalid for long.
    std::size_t free_head_ = 0;
};

/// Allocates memory of the arena for one process, as offsets into it. Thread-safe.
class ChunkAllocator {
  public:
    void init(const Arena* arena, Owner owner);

    /// Returns zeroed memory that begins at a chunk boundary, or 0 if the arena is full.
    std::uint64_t allocate_pages(std::uint64_t bytes);
    void release_pages(std::uint64_t off, std::uint64_t bytes);

    /// Returns zeroed memory of any size, aligned to 64 bytes, or 0 if the arena is full.
    std::uint64_t allocate(std::uint64_t bytes);
    void release(std::uint64_t off, std::uint64_t bytes);

  private:
    static constexpr unsigned kClassMin = 6;   // 64 bytes
    static constexpr unsigned kClassMax = 15;  // 32 KiB
    /// Makes this process the owner of `count` chunks. Returns false, with nothing changed, if one
    /// has an owner.
    bool claim(std::uint32_t first, std::uint32_t count);

    std::mutex mutex_;
    const Arena* arena_ = nullptr;
    Owner owner_ = 0;
    std::uint32_t cursor_ = 0;
    std::vector<std::uint64_t> free_[kClassMax + 1];
};

}  // namespace softib::shm
