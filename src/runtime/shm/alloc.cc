// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/alloc.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <bit>
#include <cstring>

namespace softib::shm {

namespace {

/// The first table entry that is ever allocated: 0 means "none", and QPNs 0 and 1 are the
/// management queue pairs.
constexpr std::uint32_t kReservedEntries = 16;

}  // namespace

void TableAllocator::init(std::atomic<Owner>* batches, std::uint32_t entries_max, Owner owner) {
    batches_ = batches;
    batch_count_ = entries_max / kBatchEntries;
    owner_ = owner;
    next_batch_ = 0;
    free_.clear();
    free_head_ = 0;
}

bool TableAllocator::claim_batch() {
    for (std::uint32_t i = 0; i < batch_count_; ++i) {
        const std::uint32_t b = (next_batch_ + i) % batch_count_;
        Owner expected = 0;
        if (batches_[b].load(std::memory_order_relaxed) == 0 &&
            batches_[b].compare_exchange_strong(expected, owner_, std::memory_order_acq_rel)) {
            for (std::uint32_t e = 0; e < kBatchEntries; ++e) {
                const std::uint32_t entry = b * kBatchEntries + e;
                if (entry >= kReservedEntries) {
                    free_.push_back(entry);
                }
            }
            next_batch_ = b + 1;
            return true;
        }
    }
    return false;
}

std::uint32_t TableAllocator::allocate() {
    const std::lock_guard guard(mutex_);
    if (free_head_ == free_.size()) {
        free_.clear();
        free_head_ = 0;
        if (!claim_batch()) {
            return kNoEntry;
        }
    }
    const std::uint32_t entry = free_[free_head_++];
    if (free_head_ > 1024 && free_head_ * 2 > free_.size()) {
        free_.erase(free_.begin(), free_.begin() + static_cast<std::ptrdiff_t>(free_head_));
        free_head_ = 0;
    }
    return entry;
}

void TableAllocator::release(std::uint32_t entry) {
    const std::lock_guard guard(mutex_);
    free_.push_back(entry);
}

void ChunkAllocator::init(const Arena* arena, Owner owner) {
    arena_ = arena;
    owner_ = owner;
    // Processes start at different chunks, so that they seldom compete for one.
    cursor_ =
        static_cast<std::uint32_t>(std::uint64_t{owner} * 2654435761U % arena->header->chunks);
    for (auto& list : free_) {
        list.clear();
    }
}

bool ChunkAllocator::claim(std::uint32_t first, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        Owner expected = 0;
        if (!arena_->chunk_owner[first + i].compare_exchange_strong(expected, owner_,
                                                                    std::memory_order_acq_rel)) {
            while (i-- > 0) {
                arena_->chunk_owner[first + i].store(0, std::memory_order_release);
            }
            return false;
        }
    }
    return true;
}

std::uint64_t ChunkAllocator::allocate_pages(std::uint64_t bytes) {
    const std::uint32_t total = arena_->header->chunks;
    const std::uint64_t wanted = (bytes + kChunkBytes - 1) / kChunkBytes;
    if (wanted == 0 || wanted > total) {
        return 0;
    }
    const auto count = static_cast<std::uint32_t>(wanted);
    const std::lock_guard guard(mutex_);
    std::uint32_t run = 0;
    std::uint32_t at = cursor_;
    for (std::uint64_t looked = 0; looked < std::uint64_t{total} + count; ++looked) {
        if (at == total) {
            at = 0;
            run = 0;
        }
        run = arena_->chunk_owner[at].load(std::memory_order_relaxed) == 0 ? run + 1 : 0;
        ++at;
        if (run == count) {
            if (claim(at - count, count)) {
                cursor_ = at;
                return arena_->header->chunks_off + std::uint64_t{at - count} * kChunkBytes;
            }
            run = 0;
        }
    }
    return 0;
}

void ChunkAllocator::release_pages(std::uint64_t off, std::uint64_t bytes) {
    const std::uint64_t count = (bytes + kChunkBytes - 1) / kChunkBytes;
    fallocate(arena_->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(off),
              static_cast<off_t>(count * kChunkBytes));
    const std::uint64_t first = (off - arena_->header->chunks_off) / kChunkBytes;
    for (std::uint64_t i = 0; i < count; ++i) {
        arena_->chunk_owner[first + i].store(0, std::memory_order_release);
    }
}

std::uint64_t ChunkAllocator::allocate(std::uint64_t bytes) {
    const unsigned size_class =
        std::max(kClassMin, static_cast<unsigned>(std::bit_width(bytes - 1)));
    if (size_class > kClassMax) {
        return allocate_pages(bytes);
    }
    {
        const std::lock_guard guard(mutex_);
        auto& list = free_[size_class];
        if (!list.empty()) {
            const std::uint64_t off = list.back();
            list.pop_back();
            std::memset(arena_->base + off, 0, std::size_t{1} << size_class);
            return off;
        }
    }
    const std::uint64_t chunk = allocate_pages(kChunkBytes);
    if (chunk == 0) {
        return 0;
    }
    const std::lock_guard guard(mutex_);
    const std::uint64_t step = std::uint64_t{1} << size_class;
    for (std::uint64_t off = chunk + kChunkBytes - step; off > chunk; off -= step) {
        free_[size_class].push_back(off);
    }
    return chunk;
}

void ChunkAllocator::release(std::uint64_t off, std::uint64_t bytes) {
    const unsigned size_class =
        std::max(kClassMin, static_cast<unsigned>(std::bit_width(bytes - 1)));
    if (size_class > kClassMax) {
        release_pages(off, bytes);
        return;
    }
    const std::lock_guard guard(mutex_);
    free_[size_class].push_back(off);
}

}  // namespace softib::shm
