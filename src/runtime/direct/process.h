// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// This process as a member of a fabric: its slot in the arena, its allocators, its helper thread. A
// process attaches once and stays attached until it ends. A forked child is not attached; it cannot
// use the object that it inherited from its parent.

#include <atomic>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/direct/attachment.h"
#include "runtime/direct/memory/copy_team.h"
#include "runtime/direct/memory/gpu/memory.h"
#include "runtime/direct/memory/shared_memory.h"
#include "runtime/direct/progress.h"
#include "runtime/shm/alloc.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/clock.h"

namespace softib::direct {

class MemoryMap;

class Process {
  public:
    /// Returns the object of this process. Attaches first, if the process is not attached yet, to
    /// the fabric in the directory `dir`, as a program on these virtual hosts (names separated by
    /// commas). Returns nullptr, with errno set, if no fabric is given (ENODEV), if the daemon does
    /// not answer, or if a host does not exist.
    static Process* attach(const char* dir, const char* hosts);

    Attachment self;
    bool enforces_memlock = false;               ///< Regions count against RLIMIT_MEMLOCK.
    std::atomic<std::uint64_t> pinned_bytes{0};  ///< What all PinnedPages have counted.

    shm::TableAllocator qp_table;
    shm::TableAllocator mr_table;
    shm::TableAllocator cq_table;
    shm::TableAllocator srq_table;
    shm::ChunkAllocator memory;
    MemoryMap* regions = nullptr;
    CopyTeam copy_team;
    gpu::Memory gpu{*this};
    SharedMapper shared_mapper{self.arena};
    std::optional<Mappings> shared_mappings;  ///< Mappings of peers' memory (shared_memory.h).

    /// Returns the stripe for a new queue pair: each in turn.
    shm::Stripe& next_stripe();
    /// Takes a number for a protection or XRC domain that no other process has. Returns 0 if none
    /// is left.
    std::uint32_t take_domain();
    void release_domain(std::uint32_t id);
    std::uint32_t next_channel() { return ++channel_counter_; }
    /// Closes an event channel and removes its name. In a forked child, only closes the descriptor:
    /// the name is the parent's.
    void remove_channel(std::uint32_t id, int fd);

    /// Sets the number of copy helpers by the number of processes that now share the cores. Called
    /// before each large copy; looks only now and then.
    void size_copy_team();

    Progress progress{*this, self};

  private:
    bool join(const char* dir, const char* hosts);
    void become_inherited();

    std::mutex domains_mutex_;
    std::uint32_t domains_top_ = 0;
    /// Numbers of released domains. The one released longest ago is used first, so that a stale
    /// number stays invalid for long.
    std::deque<std::uint32_t> domains_free_;
    std::atomic<std::uint32_t> channel_counter_{0};
    std::atomic<std::uint32_t> stripe_counter_{0};
    std::atomic<std::uint32_t> large_copies_{0};

    friend struct ForkHandlers;
};

/// Handlers around a fork. The C library calls them, or the preloaded library (memory_calls.h) if
/// it is a fork for which the C library runs no handlers.
struct ForkHandlers {
    static void prepare();
    static void parent();
    static void child();
};

}  // namespace softib::direct
