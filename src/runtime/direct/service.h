// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Calls to another process's helper thread: memory tier 3, and atomics on memory that only its
// owner can address.

#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::live {

class Process;

/// Bytes one call moves; larger transfers take several.
inline constexpr std::uint64_t kServiceBytesMax = 256 * 1024;

/// Runs one operation in the target. `data` is source (kWrite) or destination (kRead). Waits for
/// the answer; false when the target refused or has no helper, or, with errno ETIMEDOUT, died or
/// did not answer in time.
bool service_call(Process& process, Owner target, ServiceCall::Op op, std::uint64_t address,
                  void* data, std::uint64_t length, const std::uint64_t operand[2],
                  std::uint64_t* result);

/// The stripe whose hazard guards the calls under way; no queue pair uses it.
inline constexpr std::uint32_t kServiceStripe = 0;

/// Serves the calls posted to this process; runs in the helper thread and in polls.
void service_run(Process& process);

}  // namespace softib::live
