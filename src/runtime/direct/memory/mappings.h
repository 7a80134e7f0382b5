// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Memory of peers, mapped into this process: made when a request first needs it, kept for the next
// one, and given up when the peer's registration ends or the peer does. A mapping keeps the memory
// from being free, so this process's helper thread is woken when one of them is out of date.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "runtime/shm/arena.h"

namespace softib::live {

/// A file descriptor of our own for one of a peer's; -1 and errno.
int take_descriptor(const Arena& arena, Owner owner, int fd);

/// The piece of a region that holds an address of its owner's; nullptr: none does.
const PeerPiece* piece_at(const Arena& arena, const MrShared& mr, std::uint64_t at);

struct Mapping {
    std::uint32_t region = 0;      ///< The registration it was made for,
    std::uint32_t generation = 0;  ///< and its number.
    PeerPiece::Kind kind = PeerPiece::kOwnerOnly;
    std::uint64_t base = 0;  ///< Here; 0: could not be mapped, and is not tried again.
    std::uint64_t bytes = 0;
    std::uint32_t uses = 0;
    bool stale = false;  ///< It goes with its last use.
    // Only for GPU memory:
    void* context = nullptr;
    std::uint64_t allocation = 0;
};

/// How one sort of memory is mapped.
class Mapper {
  public:
    virtual ~Mapper() = default;
    /// Sets base and bytes, and what unmake() needs. Where it cannot, base stays 0.
    virtual void make(Owner owner, const PeerPiece& piece, Mapping& mapping) = 0;
    virtual void unmake(Mapping& mapping) = 0;
};

class Mappings {
  public:
    /// `mapped`: where everybody sees how many there are.
    Mappings(Mapper& mapper, const Arena& arena, std::atomic<std::uint32_t>& mapped)
        : mapper_(mapper), arena_(arena), mapped_(mapped) {}

    /// Keeps a mapping while it lives. Converts to false if only the owner reaches the memory.
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

    /// The peer's memory behind a piece. The caller holds a hazard on its owner.
    Use use(Owner owner, const PeerPiece& piece);

    /// Gives up what is out of date, at once or with its last use. Cheap where nothing has changed.
    void give_up_stale();

  private:
    /// Owner, use of its slot, number of the export.
    using Name = std::tuple<Owner, std::uint64_t, std::uint64_t>;

    bool is_stale(const Name& name, const Mapping& mapping) const;
    void give_up_stale_locked();
    void release(Mapping& mapping);

    Mapper& mapper_;
    const Arena& arena_;
    std::atomic<std::uint32_t>& mapped_;
    std::mutex mutex_;
    std::map<Name, Mapping> mappings_;
    /// Sum of the arena's generations of pieces and deaths at the last look.
    std::atomic<std::uint64_t> seen_{0};
};

}  // namespace softib::live
