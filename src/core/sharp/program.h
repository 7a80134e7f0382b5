// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How a tree reduces, as a list of steps: every aggregation node takes the contributions of its
// children in the order of its ports and passes one vector on. Whoever executes the list does what
// all nodes of the tree would do, element by element in the same order, and so gets the same bits.
//
// The steps work on a stack of vectors: a node's own is on top while its children are added.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/sharp/types.h"

namespace softib::sharp {

struct Step {
    enum Kind : std::uint32_t {
        kPush = 0,  ///< A new vector on top: the contribution of `member`.
        kAdd = 1,   ///< The contribution of `member` is reduced into the top.
        kFold = 2,  ///< The top is reduced into the vector below it, and taken off.
    };
    Kind kind = kPush;
    std::uint32_t member = 0;

    friend bool operator==(const Step&, const Step&) = default;
};

/// How many vectors the stack has at most; 0 where the steps are no program: they do not leave one
/// vector, or name a member that is not below `members`.
std::size_t stack_depth(std::span<const Step> steps, std::uint32_t members);

/// Reduces what the members contribute into `result`. `contributions` has a vector of the size of
/// `result` for each member; `scratch` has room for stack_depth() - 1 such vectors.
void execute(std::span<const Step> steps, const Reduction& reduction,
             std::span<const std::byte* const> contributions, std::span<std::byte> result,
             std::span<std::byte> scratch);

}  // namespace softib::sharp
