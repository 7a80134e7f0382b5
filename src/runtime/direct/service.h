// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Calls to the helper thread of another process, which copies memory that the caller cannot reach
// (tier 3) and executes atomic operations on memory that only its owner can address.

#include <cstdint>

#include "runtime/shm/arena.h"

namespace softib::direct {

class Process;

/// The most bytes that one call moves; larger transfers take several calls.
inline constexpr std::uint64_t kServiceBytesMax = 256 * 1024;

/// Has the process `target` execute one operation, and waits for its answer. `data` is the source
/// (kWrite) or the destination (kRead). Returns false, with errno set, if the target refuses or has
/// no helper thread; errno is ETIMEDOUT if the target died or does not answer in time.
bool service_call(Process& process, shm::Owner target, shm::ServiceCall::Op op,
                  std::uint64_t address, void* data, std::uint64_t length,
                  const std::uint64_t operand[2], std::uint64_t* result);

/// The stripe whose hazard a process holds while it serves calls. No queue pair uses it.
inline constexpr std::uint32_t kServiceStripe = 0;

/// Serves the calls that peers have posted to this process. Runs in the helper thread and in polls.
void service_run(Process& process);

}  // namespace softib::direct
