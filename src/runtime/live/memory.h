// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Registered memory of this process: makes it reachable for peers, tier by tier, and keeps the
// keys. Pages that became arena pages stay so after deregistration: a second registration is then
// cheap, and they go back to the arena once the program has unmapped them.

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "runtime/live/arena.h"
#include "runtime/live/remap.h"
#include "runtime/live/shared_memory.h"

namespace softib::live {

class Process;

struct RegionRequest {
    std::uint64_t va = 0;
    std::uint64_t length = 0;
    std::uint64_t iova = 0;
    std::uint32_t access = 0;
    std::uint32_t pd = 0;
    std::uint32_t hca = 0;
    bool on_demand = false;  ///< Follows the mapping instead of pinning it: tier 2.
    bool gpu_only = false;   ///< Memory of a GPU, or nothing.
};

class MemoryMap {
  public:
    explicit MemoryMap(Process& process);

    /// Each returns 0 or an errno value. `index` is the entry in the key table.
    int add_region(const RegionRequest& request, std::uint32_t& index);
    int add_null(std::uint32_t pd, std::uint32_t hca, std::uint32_t& index);
    int add_device_memory(std::uint32_t pd, std::uint32_t hca, std::uint64_t off,
                          std::uint64_t length, std::uint32_t access, std::uint32_t& index);
    int add_window(std::uint32_t pd, std::uint32_t hca, KeyKind kind, std::uint32_t& index);
    /// Replaces what the given flags name; the key stays.
    int change_region(std::uint32_t index, bool translation, const RegionRequest& request,
                      bool change_pd, bool change_access);
    void remove(std::uint32_t index);

    /// Next key of this entry: same index, another variant.
    std::uint32_t rotate_key(std::uint32_t index);

    void lock_for_fork() { mutex_.lock(); }
    void unlock_after_fork() { mutex_.unlock(); }
    /// In a forked child: turns the shared pages into private copies-on-write.
    void make_private_in_child();

  private:
    struct Backing {
        std::uint64_t bytes;
        std::uint64_t regions;  ///< Regions that use it.
    };
    struct Piece {
        Extent extent;
        std::uint64_t backing;
    };

    int build(const RegionRequest& request, std::uint32_t index,
              std::vector<std::uint64_t>& backings);
    Tier tier_of_rest() const { return tier_best_ == Tier::kHelper ? Tier::kHelper : Tier::kCopy; }
    int build_gpu(const RegionRequest& request, std::uint32_t index);
    void build_mapped(const RegionRequest& request, std::uint32_t index,
                      const std::vector<Vma>& vmas);
    /// Tells peers of pieces they can map. 0 or an errno value.
    int place_peer_pieces(std::vector<PeerPiece>& pieces, std::uint32_t index, Tier tier);
    /// Nobody can reach the region any more: it has no key, and a grace period is over.
    void remove_peer_pieces(MrShared& mr);
    void forget_peer_pieces(Tier tier, const std::vector<PeerPiece>& pieces);
    bool maybe_gpu(const RegionRequest& request, const std::vector<Vma>& vmas) const;
    int check(const RegionRequest& request, const std::vector<Vma>& vmas) const;
    bool take_shared(const Vma& vma, std::uint64_t begin, std::uint64_t end, std::uint64_t delta,
                     std::vector<Piece>& pieces);
    void add_piece(std::vector<Piece>& pieces, std::uint64_t begin, std::uint64_t end,
                   std::uint64_t delta, std::uint64_t off);
    int place_extents(const std::vector<Piece>& pieces, MrShared& mr);
    void account(const MrShared& mr, std::int64_t sign);
    void drop_backings(const std::vector<std::uint64_t>& backings);
    void collect_unused();
    std::uint32_t new_entry(MrShared** mr);

    Process& process_;
    std::mutex mutex_;
    std::map<std::uint64_t, Backing> backings_;                 ///< By arena offset.
    std::map<std::uint32_t, std::vector<std::uint64_t>> used_;  ///< By key table index.
    std::uint64_t unused_bytes_ = 0;
    Tier tier_best_ = Tier::kShared;
    SharedExports shared_exports_;
};

}  // namespace softib::live
