// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The reduction of a whole aggregation tree, as a list of steps. Every aggregation node reduces the
// contributions of its children in the order of its ports and passes one vector on. execute() does
// what all nodes of the tree would do, element by element in the same order, and so its result has
// the same bits.
//
// The steps work on a stack of vectors: a node's vector is on top while its children are added.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/sharp/types.h"

namespace softib::sharp {

struct Step {
    enum Kind : std::uint32_t {
        kPush = 0,  ///< Pushes the contribution of `member` as a new vector.
        kAdd = 1,   ///< Reduces the contribution of `member` into the top vector.
        kFold = 2,  ///< Reduces the top vector into the one below it, and pops it.
    };
    Kind kind = kPush;
    std::uint32_t member = 0;

    friend bool operator==(const Step&, const Step&) = default;
};

/// Returns the largest number of vectors that the stack has at any time. Returns 0 if the steps are
/// no valid program: they do not leave exactly one vector, need a vector that is not there, or name
/// a member that is not below `members`.
std::size_t stack_depth(std::span<const Step> steps, std::uint32_t members);

/// Reduces the members' contributions into `result`. `contributions` has a vector of the size of
/// `result` for each member; `scratch` has room for stack_depth() - 1 such vectors. The steps must
/// be a valid program.
void execute(std::span<const Step> steps, const Reduction& reduction,
             std::span<const std::byte* const> contributions, std::span<std::byte> result,
             std::span<std::byte> scratch);

}  // namespace softib::sharp
