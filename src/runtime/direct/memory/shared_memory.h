// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Registered memory that the program shares already: MAP_SHARED, with or without a file of its own,
// and System V. Its pages cannot be swapped for arena pages: other processes use them, or a driver
// has pinned them (CUDA's host memory is of this kind). But there is a file behind them. Where this
// process can open that (see open_behind), peers map it and copy without the kernel; else they go
// by tier 2. A file that the program can open it can also cut short, under a peer's feet: peers
// copy such memory with a guard (bus_guard.h).

#include <cstdint>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "runtime/direct/memory/address_space.h"
#include "runtime/direct/memory/mappings.h"
#include "runtime/shm/arena.h"

namespace softib::live {

/// What this process has of it: one open file for each mapping, however many regions lie in it. One
/// thread at a time.
class SharedExports {
  public:
    /// Adds what lies in [begin, end). Mappings whose file cannot be opened are left out.
    void add(AddressSpace& space, std::span<const Vma> vmas, std::uint64_t begin, std::uint64_t end,
             std::vector<PeerPiece>& pieces);
    void remove(std::span<const PeerPiece> pieces);

  private:
    struct Export {
        PeerPiece piece;  ///< How to map the whole mapping.
        std::uint32_t uses;
    };
    /// Where the mapping lies, its file and the place in that.
    using Name = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::uint64_t>;

    std::map<Name, Export> exports_;
    std::uint64_t number_ = 0;
};

class SharedMapper : public Mapper {
  public:
    explicit SharedMapper(const Arena& arena) : arena_(arena) {}

    void make(Owner owner, const PeerPiece& piece, Mapping& mapping) override;
    void unmake(Mapping& mapping) override;

  private:
    const Arena& arena_;
};

/// The file behind a shared mapping of this process, for reading and writing; -1: it cannot be had.
/// The kernel opens any file for those who may checkpoint processes (CAP_CHECKPOINT_RESTORE or
/// CAP_SYS_ADMIN); others get one that the program has open, or that still has its name.
int open_behind(AddressSpace& space, const Vma& vma);

}  // namespace softib::live
