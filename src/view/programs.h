// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Programs on a fabric, and the objects that they hold: queue pairs, completion queues, memory.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/shm/arena.h"

namespace softib::view {

/// Registered memory that peers reach in one way (tier, runtime/direct/memory/memory.h).
struct MemoryTier {
    const char* name = "";
    std::uint32_t regions = 0;
    std::uint64_t bytes = 0;
};
inline constexpr std::size_t kTiers = 5;

struct Program {
    shm::Owner owner = 0;
    std::uint32_t pid = 0;
    std::string command;
    std::string host;
};

/// The objects that a program holds. Counting them reads all its tables in the arena.
struct Holdings {
    std::uint32_t qps = 0;
    std::uint32_t cqs = 0;
    std::uint32_t srqs = 0;
    std::uint32_t mrs = 0;
    std::array<MemoryTier, kTiers> memory{};
};

std::vector<Program> programs(const shm::Arena& arena);
Holdings holdings(const shm::Arena& arena, shm::Owner owner);

}  // namespace softib::view
