// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What every file of the packet engine counts in.

#include <cstdint>

#include "core/link/rate.h"

namespace softib::net {

using link::kNever;
using link::TimePs;

/// An index that names nothing: no packet, port, node …
inline constexpr std::uint32_t kNone = UINT32_MAX;

}  // namespace softib::net
