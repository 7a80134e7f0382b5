// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Registered memory that the program shares already: MAP_SHARED, with or without a file, and System
// V shared memory. Its pages cannot be swapped for arena pages, because other processes use them or
// a driver has pinned them (as CUDA does with its host memory). But the kernel has a file behind
// them. If this process can open that file (see open_behind), peers map it and copy without system
// calls; otherwise they use tier 2. A program that can open the file can also truncate it while a
// peer copies, so peers copy such memory with a guard (bus_guard.h).

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "runtime/direct/memory/address_space.h"
#include "runtime/direct/memory/mappings.h"
#include "runtime/shm/arena.h"

namespace softib::direct {

/// The shared memory that this process exports: one open file for each mapping, however many
/// regions lie in it. Used by one thread at a time.
class SharedExports {
  public:
    /// Adds a piece for each shared mapping in [begin, end) that can be written. Leaves out
    /// mappings whose file cannot be opened.
    void add(AddressSpace& space, std::span<const Vma> vmas, std::uint64_t begin, std::uint64_t end,
             std::vector<shm::PeerPiece>& pieces);
    void remove(std::span<const shm::PeerPiece> pieces);

  private:
    struct Export {
        shm::PeerPiece piece;  ///< Says how a peer maps the whole mapping.
        std::uint32_t uses;    ///< The number of pieces that regions have of it.
    };
    /// Begin and end of the mapping, inode of its file, and offset in the file.
    using Name = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

    std::map<Name, Export> exports_;
    std::uint64_t number_ = 0;
};

/// Maps shared memory of a peer, by the file that its owner has opened.
class SharedMapper : public Mapper {
  public:
    explicit SharedMapper(const shm::Arena& arena) : arena_(arena) {}

    void make(shm::Owner owner, const shm::PeerPiece& piece, Mapping& mapping) override;
    void unmake(Mapping& mapping) override;

  private:
    const shm::Arena& arena_;
};

/// Opens the file behind a shared mapping of this process for reading and writing. Returns -1 if
/// that is not possible. A process that may checkpoint others (CAP_CHECKPOINT_RESTORE or
/// CAP_SYS_ADMIN) can open any such file; others only one that the program has open, or that still
/// has its name.
int open_behind(AddressSpace& space, const Vma& vma);

}  // namespace softib::direct
