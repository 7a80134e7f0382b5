// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory keys in the arena: regions, windows, and how peers reach their pages. Part of arena.h.

#include <atomic>
#include <cstdint>

#include "core/hca/vocabulary.h"
#include "runtime/shm/arena_constants.h"

namespace softib::live {

using hca::AccessFlags;
using hca::is_window;
using hca::KeyKind;
using enum hca::AccessFlags;

/// A stretch of a region that is not covered by its main extent.
struct Extent {
    std::uint64_t begin;  ///< Same space as MrShared::iova.
    std::uint64_t end;
    std::uint64_t arena_off;
};

/// A stretch of a region that a peer maps before it can reach it, and how: GPU memory of one
/// allocation (gpu/exports.h), or one shared mapping of the owner (shared_memory.h).
struct PeerPiece {
    enum Kind : std::uint32_t {
        kOwnerOnly = 0,  ///< Not at all: the owner's helper reaches it.
        kIpcHandle = 1,  ///< By `handle`, which any process may open.
        kDescriptor =
            2,           ///< By the owner's descriptor `descriptor`, an export of the GPU's driver.
        kFile = 3,       ///< The host's: that descriptor is of a file, from `file_offset` on,
        kNamedFile = 4,  ///< likewise, and its owner can cut it short.
    };
    std::uint64_t begin;  ///< Owner's addresses.
    std::uint64_t end;
    std::uint64_t base;        ///< Where the allocation or mapping begins,
    std::uint64_t bytes;       ///< and its length.
    std::uint64_t number;      ///< Of that: no two of a process and kind are the same.
    std::uint32_t region;      ///< Index of the region's key,
    std::uint32_t generation;  ///< and its generation.
    Kind kind;
    std::int32_t descriptor;
    std::uint8_t device[16];  ///< UUID of the GPU.
    char handle[64];
    std::uint64_t file_offset;
};

/// A memory key: region or window. The first line decides the common case.
struct alignas(64) MrShared {
    std::atomic<std::uint32_t> key;  ///< 0: not valid.
    std::uint32_t access;
    std::uint32_t pd;
    Owner owner;
    KeyKind kind;
    Tier rest_tier;  ///< How to reach what is in no shared extent.
    std::uint64_t iova;
    std::uint64_t length;
    std::uint64_t ext_begin;  ///< Main extent: [ext_begin, ext_end) at arena offset ext_off.
    std::uint64_t ext_end;
    std::uint64_t ext_off;
    std::uint64_t va_delta;  ///< Owner's virtual address = addr + va_delta.

    std::uint64_t extents_off;
    std::uint32_t extents;
    std::uint32_t qpn;     ///< Type 2 window: the QP it is bound to.
    std::uint32_t parent;  ///< Window: index of its region.
    std::uint32_t next_key_variant;
    std::uint32_t hca;
    /// Region: changes with every registration. Window: that of its region when it was bound.
    std::atomic<std::uint32_t> generation;
    std::uint64_t pieces_off;  ///< Tier::kGpu and kMapped: its PeerPieces.
    std::uint32_t pieces;
};
static_assert(sizeof(MrShared) == 128);

}  // namespace softib::live
