// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// GPU memory of peers, mapped into this process: made when a request first needs it, kept for the
// next one, and given up when the peer's registration ends or the peer does. A mapping keeps the
// memory from being free, so this process's helper thread is woken when one of them is out of date.

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <tuple>

#include "runtime/live/arena.h"
#include "runtime/live/gpu/engine.h"

namespace softib::live::gpu {

class Mappings {
  public:
    /// `mapped`: where everybody sees how many there are.
    Mappings(Engine& engine, const Arena& arena, std::atomic<std::uint32_t>& mapped)
        : engine_(engine), arena_(arena), mapped_(mapped) {}

    struct Mapping;

    /// A mapping in use: it stays while this lives. False: only the owner reaches the memory.
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
        Address base() const { return mapping_->base; }
        Context context() const { return mapping_->context; }

      private:
        Mappings* all_ = nullptr;
        Mapping* mapping_ = nullptr;
    };

    /// The peer's memory behind a piece. The caller holds a hazard on its owner.
    Use use(Owner owner, const GpuPiece& piece);

    /// Gives up what is out of date and not in use. Cheap where nothing has changed.
    void give_up_stale();

    struct Mapping {
        std::uint32_t region = 0;      ///< The registration it was made for,
        std::uint32_t generation = 0;  ///< and its number.
        GpuPiece::Kind kind = GpuPiece::kOwnerOnly;
        Context context = nullptr;
        Address base = 0;  ///< Here; 0: could not be mapped, and is not tried again.
        std::uint64_t bytes = 0;
        Allocation allocation = 0;
        std::uint32_t uses = 0;
    };

  private:
    /// Owner, use of its slot, number of the export.
    using Name = std::tuple<Owner, std::uint64_t, std::uint64_t>;

    bool is_stale(const Name& name, const Mapping& mapping) const;
    void make(Owner owner, const GpuPiece& piece, Mapping& mapping);
    bool make_from_descriptor(Owner owner, const GpuPiece& piece, int device, Mapping& mapping);
    void unmake(Mapping& mapping);
    void give_up_stale_locked();
    void release(Mapping& mapping);

    Engine& engine_;
    const Arena& arena_;
    std::atomic<std::uint32_t>& mapped_;
    std::mutex mutex_;
    std::map<Name, Mapping> mappings_;
    std::atomic<std::uint64_t> seen_{0};  ///< Of what changes when a mapping can go out of date.
};

}  // namespace softib::live::gpu
