// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace softib::fuzz {

/// Whether a trace of these bytes is refused with a message, or is the same after it was written
/// and read again. The first byte chooses a beginning, so that every reader is met.
bool trace_holds(std::span<const std::uint8_t> input);

}  // namespace softib::fuzz
