// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Mappings of peers' memory in this process. A mapping is made when a request first needs it, kept
// for later requests, and given up when the peer deregisters the memory or ends. A mapping keeps
// the memory from being freed, so a peer that deregisters memory wakes the helper threads of the
// processes that may have mapped it.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "runtime/shm/arena.h"

namespace softib::direct {

/// Duplicates a file descriptor of a peer into this process. Returns -1, with errno set, if that
/// fails.
int take_descriptor(const shm::Arena& arena, shm::Owner owner, int fd);

/// Returns the piece of a region that contains `at`, a virtual address of the region's owner;
/// nullptr if none does.
const shm::PeerPiece* piece_at(const shm::Arena& arena, const shm::MrShared& mr, std::uint64_t at);

struct Mapping {
    std::uint32_t region = 0;      ///< The key table entry of the region it was made for.
    std::uint32_t generation = 0;  ///< The generation of that region.
    shm::PeerPiece::Kind kind = shm::PeerPiece::kOwnerOnly;
    /// The address in this process; 0 if mapping failed, which is not tried again.
    std::uint64_t base = 0;
    std::uint64_t bytes = 0;
    std::uint32_t uses = 0;
    bool stale = false;  ///< It is unmapped when `uses` becomes 0.
    // The rest is for GPU memory only.
    void* context = nullptr;
    std::uint64_t allocation = 0;
};

/// Maps and unmaps one sort of memory.
class Mapper {
  public:
    virtual ~Mapper() = default;
    /// Maps a piece: sets `base` and `bytes`, and what unmake() needs. Leaves `base` 0 if it
    /// cannot.
    virtual void make(shm::Owner owner, const shm::PeerPiece& piece, Mapping& mapping) = 0;
    virtual void unmake(Mapping& mapping) = 0;
};

class Mappings {
  public:
    /// `mapped` is the counter in the arena by which peers see how many mappings there are.
    Mappings(Mapper& mapper, const shm::Arena& arena, std::atomic<std::uint32_t>& mapped)
        : mapper_(mapper), arena_(arena), mapped_(mapped) {}

    /// Keeps a mapping while it lives. Converts to false if the memory could not be mapped here.
    class Use {
      public:
        Use() = default;
        Use(Mappings& all, Mapping& mapping) : all_(&all), mapping_(&mapping) {}
        ~Use() {
            if (mapping_ != nullptr) {
                all_->release(*mapping_);
            }
        }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        explicit operator bool() const { return mapping_ != nullptr; }
        const Mapping* operator->() const { return mapping_; }

      private:
        Mappings* all_ = nullptr;
        Mapping* mapping_ = nullptr;
    };

    /// Returns the mapping of the allocation or file that a piece lies in, and maps it first if
    /// needed. The caller holds a hazard on the owner.
    Use use(shm::Owner owner, const shm::PeerPiece& piece);

    /// Gives up stale mappings; one in use goes with its last use. Cheap if nothing has changed.
    void give_up_stale();

  private:
    /// The owner's slot, the instance of the process in it, and the number of the export.
    using Name = std::tuple<shm::Owner, std::uint64_t, std::uint64_t>;

    bool is_stale(const Name& name, const Mapping& mapping) const;
    void give_up_stale_locked();
    void release(Mapping& mapping);

    Mapper& mapper_;
    const shm::Arena& arena_;
    std::atomic<std::uint32_t>& mapped_;
    std::mutex mutex_;
    std::map<Name, Mapping> mappings_;
    /// Sum of the arena's pieces_generation and death_generation when stale mappings were last
    /// looked for.
    std::atomic<std::uint64_t> seen_{0};
};

}  // namespace softib::direct
