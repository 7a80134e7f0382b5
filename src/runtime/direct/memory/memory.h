// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Registered memory of this process. Makes each part of a region reachable for peers by the best
// tier that is possible, and enters the region into the key table. Private pages become arena pages
// with the first region that lies on them, and private pages again with the end of the last
// (swapped_pages.h).
//
// Tiers: 1, peers access pages of the arena directly; 2, they copy by system calls
// (process_vm_readv); 3, the owner's helper thread copies for them. Besides, peers map memory of a
// GPU and memory that the program already shares (gpu/memory.h, shared_memory.h).

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/direct/memory/shared_memory.h"
#include "runtime/direct/memory/swapped_pages.h"
#include "runtime/shm/arena.h"

namespace softib::direct {

class Process;

struct RegionRequest {
    std::uint64_t va = 0;
    std::uint64_t length = 0;
    std::uint64_t iova = 0;
    std::uint32_t access = 0;
    std::uint32_t pd = 0;
    std::uint32_t hca = 0;
    bool on_demand = false;  ///< On-demand paging: the region's pages are not shared (tier 2 or 3).
    bool gpu_only = false;   ///< Registration fails unless the memory is a GPU's.
};

class MemoryMap {
  public:
    explicit MemoryMap(Process& process);

    // The functions that add or change an entry of the key table return 0 or an errno value.
    // `index` is the entry's place in the table.

    int add_region(const RegionRequest& request, std::uint32_t& index);
    int add_null(std::uint32_t pd, std::uint32_t hca, std::uint32_t& index);
    int add_device_memory(std::uint32_t pd, std::uint32_t hca, std::uint64_t off,
                          std::uint64_t length, std::uint32_t access, std::uint32_t& index);
    int add_window(std::uint32_t pd, std::uint32_t hca, hca::KeyKind kind, std::uint32_t& index);
    /// Replaces what the flags name (ibv_rereg_mr); the key stays the same. If it fails, the region
    /// has no valid key any more.
    int change_region(std::uint32_t index, bool translation, const RegionRequest& request,
                      bool change_pd, bool change_access);
    void remove(std::uint32_t index);

    /// Returns the next key of an entry: the same index, with other low 8 bits.
    std::uint32_t rotate_key(std::uint32_t index);

    // Called around a fork, so that the child gets its own copy of all memory that is swapped for
    // arena pages in the parent.
    void before_fork();
    void after_fork_in_parent();
    void after_fork_in_child();

  private:
    /// Locks the map, and marks the thread that has locked it. That thread's allocator may call
    /// mremap(), which comes back to us through the preloaded library and must not lock again.
    class Guard {
      public:
        explicit Guard(std::mutex& mutex) : guard_(mutex) { inside = true; }
        ~Guard() { inside = false; }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;
        static thread_local bool inside;  ///< This thread has locked the map.

      private:
        std::lock_guard<std::mutex> guard_;
    };
    using Stretches = std::vector<SwappedPages::Name>;

    int build(const RegionRequest& request, std::uint32_t index, Stretches& held);
    void share(const RegionRequest& request, const std::vector<Vma>& vmas,
               std::vector<shm::Extent>& extents, Stretches& held);
    shm::Tier tier_of_rest() const {
        return tier_best_ == shm::Tier::kHelper ? shm::Tier::kHelper : shm::Tier::kCopy;
    }
    int build_gpu(const RegionRequest& request, std::uint32_t index);
    void build_mapped(const RegionRequest& request, std::uint32_t index,
                      const std::vector<Vma>& vmas);
    /// Writes the pieces that peers can map into the arena. Returns 0 or an errno value.
    int place_peer_pieces(std::vector<shm::PeerPiece>& pieces, std::uint32_t index, shm::Tier tier);
    /// Removes the pieces of a region from the arena. No peer may be using the region: it has no
    /// key, and a grace period is over.
    void remove_peer_pieces(shm::MrShared& mr);
    void forget_peer_pieces(shm::Tier tier, const std::vector<shm::PeerPiece>& pieces);
    bool maybe_gpu(const RegionRequest& request, const std::vector<Vma>& vmas) const;
    int check(const RegionRequest& request, const std::vector<Vma>& vmas) const;
    int place_extents(const std::vector<shm::Extent>& extents, shm::MrShared& mr);
    void account(const shm::MrShared& mr, std::int64_t sign);
    void drop(const Stretches& held, bool quiet);
    std::uint32_t new_entry(shm::MrShared** mr);

    // --- the program's calls, from the preloaded library (memory_hooks.cc) ----------------------
    friend struct MemoryHooks;
    void* remap(void* from, std::uint64_t old_size, std::uint64_t new_size, int flags, void* to,
                Mremap* really);
    bool leave_arena(std::uint64_t begin, std::uint64_t end);
    static void leave_arena(shm::MrShared& entry);
    template <typename Fn>
    void for_each_window(std::uint32_t region, Fn&& window);
    void follow_move(std::uint64_t from, std::uint64_t bytes, std::uint64_t to);

    Process& process_;
    std::mutex mutex_;
    SwappedPages swapped_;
    std::map<std::uint32_t, Stretches> held_;  ///< What each region holds, by key table index.
    shm::Tier tier_best_ = shm::Tier::kShared;
    SharedExports shared_exports_;
};

}  // namespace softib::direct
