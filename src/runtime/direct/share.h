// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What this process holds of its HCAs' limits (runtime/shm/limits.h).

#include <cstdint>

#include "runtime/shm/limits.h"

namespace softib::live {

class Process;

/// An object's share of its HCA, given back when the object goes.
class Share {
  public:
    Share() = default;
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// Takes a share of the HCA's objects. Returns false, with nothing taken, if it has too few
    /// left.
    bool take(Process& process, std::uint32_t hca, ObjectKind kind, std::uint32_t amount = 1);

  private:
    Process* process_ = nullptr;
    HeldObjects* held_ = nullptr;
    ObjectKind kind_{};
    std::uint32_t amount_ = 0;
};

/// Pages of a region that an HCA would pin. They count against RLIMIT_MEMLOCK only where the
/// process was started to be held to it (`softib exec --enforce-memlock`): nothing is pinned here.
class PinnedPages {
  public:
    PinnedPages() = default;
    ~PinnedPages() { release(); }
    PinnedPages(const PinnedPages&) = delete;
    PinnedPages& operator=(const PinnedPages&) = delete;

    /// Replaces the share it had. Returns false, with nothing changed, if the limit forbids it.
    bool take(Process& process, std::uint64_t address, std::uint64_t length);

  private:
    void release();
    Process* process_ = nullptr;
    std::uint64_t bytes_ = 0;
};

}  // namespace softib::live
