// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory tier 1: private pages of the program become pages of the arena, under its feet, while its
// other threads go on writing to them. The pages are first moved away (mremap DONTUNMAP), which
// makes every access fault into userfaultfd and wait; then copied to the arena; then the arena is
// mapped in their place and the waiters are woken. No write is lost.

#include <cstdint>
#include <vector>

#include "runtime/live/arena.h"

namespace softib::live {

struct Vma {
    enum Kind : std::uint8_t { kPrivateAnonymous, kArena, kSharedAnonymous, kOther };
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t offset;  ///< What `begin` maps: of the arena, or of the file behind it.
    std::uint64_t inode;   ///< Of that file.
    int protection;        ///< PROT_*
    Kind kind;
};

/// The mappings of this process that meet [begin, end), in order. The arena's own whole mapping is
/// left out. False and errno when /proc cannot be read.
bool read_vmas(const Arena& arena, std::uint64_t begin, std::uint64_t end, std::vector<Vma>& out);

/// Replaces [begin, begin + bytes), whole pages inside one private anonymous mapping, by arena
/// memory at `off` (fresh, zero) with the same contents. False: nothing was changed.
bool share_pages(const Arena& arena, std::uint64_t begin, std::uint64_t bytes, int protection,
                 std::uint64_t off);

}  // namespace softib::live
