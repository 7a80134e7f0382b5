// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What memory.cc shares with other files that make memory regions.

#include <cstddef>
#include <cstdint>

#include "abi/verbs/objects.h"

namespace softib::abi {

/// Access flags that a device may ignore (IBV_ACCESS_OPTIONAL_RANGE).
inline constexpr unsigned kAccessOptional = 0x3FF00000;

/// Returns 0, EOPNOTSUPP for flags that are unknown, or EINVAL for flags that contradict each
/// other.
int check_access(unsigned access);

/// Returns the access flags that the runtime checks.
std::uint32_t runtime_access(unsigned access);

/// Makes the object of a new region and counts the region against its HCA's limit. If that fails,
/// removes the region and returns nullptr.
Mr* new_region(ibv_pd* pd, std::uint32_t index, void* addr, std::size_t length);

}  // namespace softib::abi
