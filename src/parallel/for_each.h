// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The same work for many things on several threads. Layers without threads take it as an argument.

#include <cstddef>
#include <cstdint>
#include <functional>

namespace softib::parallel {

/// Calls `work` with each number below `count` once, on `threads` threads (0: one for each core),
/// and returns when all calls have. Threads take the numbers in ascending order. Meanwhile the
/// calling thread calls `watch`, if it is given, every few milliseconds with how many calls have
/// returned.
void for_each(std::size_t count, std::uint32_t threads,
              const std::function<void(std::size_t)>& work,
              const std::function<void(std::size_t)>& watch = {});

}  // namespace softib::parallel
