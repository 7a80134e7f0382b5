// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Counts the objects of this process against the limits of its HCAs (runtime/shm/limits.h).

#include <cstdint>

#include "runtime/shm/limits.h"

namespace softib::direct {

class Process;

/// What an object takes of its HCA's limit; given back when the object is destroyed.
class Share {
  public:
    Share() = default;
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Takes `amount` objects of a kind from the HCA's limit. Returns false, with nothing taken, if
    /// fewer are left.
    bool take(Process& process, std::uint32_t hca, shm::ObjectKind kind, std::uint32_t amount = 1);

  private:
    Process* process_ = nullptr;
    shm::HeldObjects* held_ = nullptr;
    shm::ObjectKind kind_{};
    std::uint32_t amount_ = 0;
};

/// The pages of a region that a real HCA would pin; softib pins none. They count against
/// RLIMIT_MEMLOCK only if the program was started by `softib exec --enforce-memlock`.
class PinnedPages {
  public:
    PinnedPages() = default;
    ~PinnedPages() { release(); }
    PinnedPages(const PinnedPages&) = delete;
    PinnedPages& operator=(const PinnedPages&) = delete;

    /// Counts the pages of [address, address + length) in place of those counted before. Returns
    /// false, with nothing changed, if the limit forbids it.
    bool take(Process& process, std::uint64_t address, std::uint64_t length);

  private:
    void release();
    Process* process_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace softib::direct
