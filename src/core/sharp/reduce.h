// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The arithmetic of aggregation nodes: reduces one vector of elements into another. The accumulator
// is always the left operand, so that the same operands in the same order give the same bits.
// Integers wrap; floats of 16 bits are rounded after each operation.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/sharp/types.h"

namespace softib::sharp {

/// A function that sets accumulator[i] = accumulator[i] op operand[i]. Both vectors have the same
/// size, a multiple of the element's size; neither need be aligned.
using Reducer = void (*)(std::span<std::byte> accumulator, const std::byte* operand);

/// Returns the function for a reduction, which must be supported (is_supported()).
Reducer reducer_of(const Reduction& reduction);

/// Sets accumulator[i] = accumulator[i] op operand[i]. Both vectors have the same size, a multiple
/// of the element's size; neither need be aligned. The reduction must be supported.
void reduce_into(const Reduction& reduction, std::span<std::byte> accumulator,
                 const std::byte* operand);

}  // namespace softib::sharp
