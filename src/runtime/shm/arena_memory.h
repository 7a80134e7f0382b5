// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory keys in the arena: regions, windows, and how peers reach their pages. Part of arena.h.

#include <atomic>
#include <cstdint>

#include "core/hca/vocabulary.h"
#include "runtime/shm/arena_constants.h"

namespace softib::shm {

using hca::AccessFlags;
using hca::is_window;
using hca::KeyKind;
using enum hca::AccessFlags;

/// A stretch of a region that is not covered by its main extent.
struct Extent {
    std::uint64_t begin;  ///< Address as remote programs give it, as MrShared::iova.
    std::uint64_t end;
    std::uint64_t arena_off;
};

/// A stretch of a region that a peer must map before it can reach it: GPU memory of one allocation
/// (gpu/exports.h), or one shared mapping of the owner (shared_memory.h).
struct PeerPiece {
    enum Kind : std::uint32_t {
        kOwnerOnly = 0,   ///< A peer cannot map it; the owner's helper thread copies.
        kIpcHandle = 1,   ///< GPU memory behind `handle`, which any process can open.
        kDescriptor = 2,  ///< GPU memory that the driver exported as the owner's `descriptor`.
        kFile = 3,        ///< Host memory: the file of `descriptor`, from `file_offset` on.
        kNamedFile = 4,   ///< As kFile, but its owner can truncate the file.
    };
    std::uint64_t begin;       ///< Address in the owner.
    std::uint64_t end;         ///< Address in the owner.
    std::uint64_t base;        ///< Address in the owner where the allocation or mapping begins.
    std::uint64_t bytes;       ///< Length of the allocation or mapping.
    std::uint64_t number;      ///< Number of the allocation or mapping, unique in process and kind.
    std::uint32_t region;      ///< Index of the region's key.
    std::uint32_t generation;  ///< Generation of the region's key.
    Kind kind;
    std::int32_t descriptor;
    std::uint8_t device[16];  ///< UUID of the GPU.
    char handle[64];
    std::uint64_t file_offset;
};

/// A memory key: region or window. The first cache line has all that the common case needs.
struct alignas(64) MrShared {
    std::atomic<std::uint32_t> key;  ///< 0: not valid.
    std::uint32_t access;
    std::uint32_t pd;
    Owner owner;
    KeyKind kind;
    Tier rest_tier;  ///< How to reach what is in no extent.
    std::uint64_t iova;
    std::uint64_t length;
    std::uint64_t ext_begin;  ///< Main extent: [ext_begin, ext_end) at arena offset ext_off.
    std::uint64_t ext_end;
    std::uint64_t ext_off;
    std::uint64_t va_delta;  ///< Owner's virtual address = addr + va_delta.

    std::uint64_t extents_off;  ///< Offset of its further Extents.
    std::uint32_t extents;
    std::uint32_t qpn;     ///< Type 2 window: the QP it is bound to.
    std::uint32_t parent;  ///< Window: index of its region.
    std::uint32_t next_key_variant;
    std::uint32_t hca;
    /// Region: changes with every registration. Window: its region's generation when it was bound.
    std::atomic<std::uint32_t> generation;
    std::uint64_t pieces_off;  ///< Offset of its PeerPieces (Tier::kGpu and kMapped).
    std::uint32_t pieces;
};
static_assert(sizeof(MrShared) == 128);

}  // namespace softib::shm
