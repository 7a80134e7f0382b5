// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Returns whether a trace of these bytes is refused with a message, or is the same after it was
/// written and read again. The first byte chooses the beginning of the trace, so that every reader
/// gets input.
bool trace_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
