// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// GPU memory of this process that peers may map: one export for each of the driver's allocations,
// however many regions lie in it. Memory from cuMemAlloc has a handle that any process may open;
// memory of the driver's virtual memory management is a file descriptor, which a peer takes from
// this process. Memory that can be shared in neither way is reached by the owner alone.

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/direct/memory/gpu/engine.h"
#include "runtime/shm/arena.h"

namespace softib::live::gpu {

class Exports {
  public:
    explicit Exports(Engine& engine) : engine_(engine) {}

    /// Whether an address is memory of a GPU that the host cannot address.
    bool is_gpu(Address at) const { return engine_.is_gpu(at); }

    /// Makes [at, at + length) reachable and says how, allocation by allocation. Returns 0, EFAULT
    /// (some of it is no GPU memory) or EIO (the driver refused). Programs register whole pages:
    /// what lies in the first or last of them outside every allocation is left out.
    int add(Address at, std::uint64_t length, std::vector<PeerPiece>& pieces);
    void remove(std::span<const PeerPiece> pieces);

    /// The context to copy in where an exported address takes part; nullptr: not exported.
    Context copier_at(Address at);

  private:
    struct Export {
        PeerPiece piece;  ///< How to map the whole allocation.
        Context copier;
        std::uint32_t uses;
    };

    const Export* find_or_add(Address at, int& error);
    bool share(PeerPiece& piece) const;
    void drop(const PeerPiece& piece);

    Engine& engine_;
    std::mutex mutex_;
    std::map<Address, Export> exports_;  ///< By where the allocation begins.
    std::uint64_t number_ = 0;
};

}  // namespace softib::live::gpu
