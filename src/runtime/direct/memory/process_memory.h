// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory of this process: what it has of the arena, its registered regions, what it has mapped
// of its peers, and the threads that help it to copy.

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

#include "runtime/direct/attachment.h"
#include "runtime/direct/memory/copy_team.h"
#include "runtime/direct/memory/gpu/memory.h"
#include "runtime/direct/memory/mappings.h"
#include "runtime/direct/memory/shared_memory.h"
#include "runtime/shm/alloc.h"

namespace softib::direct {

class MemoryMap;
class Process;

class ProcessMemory {
  public:
    ProcessMemory(Process& process, const Attachment& self);
    ~ProcessMemory();
    /// REQUIRES: the process has joined a fabric; so does all below.
    void init();

    shm::ChunkAllocator chunks;  ///< Memory of the arena.
    std::unique_ptr<MemoryMap> regions;
    CopyTeam copy_team;
    gpu::Memory gpu;
    std::optional<Mappings> shared_mappings;  ///< Mappings of peers' memory (shared_memory.h).

    bool enforces_memlock = false;               ///< Regions count against RLIMIT_MEMLOCK.
    std::atomic<std::uint64_t> pinned_bytes{0};  ///< What all PinnedPages have counted.

    /// Sets the number of copy helpers by the number of processes that now share the cores. Called
    /// before each large copy; looks only now and then.
    void size_copy_team();

  private:
    Process& process_;
    const Attachment& self_;
    SharedMapper shared_mapper_;
    std::atomic<std::uint32_t> large_copies_{0};
};

}  // namespace softib::direct
