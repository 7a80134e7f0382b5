// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The arithmetic of aggregation nodes: one vector of elements is reduced into another. What comes
// first counts first, so that whoever calls with the same operands in the same order gets the same
// bits. Integers wrap; floats of 16 bits are rounded after each operation.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/sharp/types.h"

namespace softib::sharp {

/// A function that does accumulator[i] = accumulator[i] op operand[i]. Both have the same size, a
/// multiple of the element's; neither need be aligned.
using Reducer = void (*)(std::span<std::byte> accumulator, const std::byte* operand);

/// Returns the function of a reduction that is supported.
Reducer reducer_of(const Reduction& reduction);

/// accumulator[i] = accumulator[i] op operand[i]. Both have the same size, a multiple of the
/// element's; neither need be aligned. The reduction is supported.
void reduce_into(const Reduction& reduction, std::span<std::byte> accumulator,
                 const std::byte* operand);

}  // namespace softib::sharp
