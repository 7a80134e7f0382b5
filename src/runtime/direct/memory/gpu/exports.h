// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// GPU memory of this process that peers may map: one export for each allocation of the driver,
// however many regions lie in it. An allocation by cuMemAlloc is exported as an IPC handle, which
// any process may open; one by cuMemCreate is exported as a file descriptor, which a peer takes
// from this process. Memory that can be exported in neither way is accessed by its owner alone.

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/direct/memory/gpu/engine.h"
#include "runtime/shm/arena.h"

namespace softib::direct::gpu {

class Exports {
  public:
    explicit Exports(Engine& engine) : engine_(engine) {}

    /// Returns whether an address is memory of a GPU that the host cannot address.
    bool is_gpu(Address at) const { return engine_.is_gpu(at); }

    /// Exports [at, at + length) and adds a piece for each allocation in it, which says how peers
    /// reach the allocation. Returns 0, EFAULT (some of the range is no GPU memory) or EIO (the
    /// driver refused). Programs register whole pages, so up to a page that lies in no allocation
    /// is left out.
    int add(Address at, std::uint64_t length, std::vector<shm::PeerPiece>& pieces);
    void remove(std::span<const shm::PeerPiece> pieces);

    /// Returns our context for copies to and from an exported address; nullptr if the address is
    /// not exported.
    Context copier_at(Address at);

  private:
    struct Export {
        shm::PeerPiece piece;  ///< Says how a peer maps the whole allocation.
        Context copier;
        std::uint32_t uses;
    };

    const Export* find_or_add(Address at, int& error);
    bool share(shm::PeerPiece& piece) const;
    void drop(const shm::PeerPiece& piece);

    Engine& engine_;
    std::mutex mutex_;
    std::map<Address, Export> exports_;  ///< By the address at which the allocation begins.
    std::uint64_t number_ = 0;
};

}  // namespace softib::direct::gpu
