// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Limits of an HCA: how many objects of each kind all processes have of it together. What
// ibv_query_device says is in the arena's header, and whoever makes an object takes its share
// first.

#include <array>
#include <cstdint>

#include "runtime/live/arena.h"

namespace softib::live {

class Process;

/// By ObjectKind; kDeviceMemory is in bytes. The arena's tables hold this for several HCAs of a
/// fabric, and memory for it is found where --arena leaves room.
inline constexpr std::array<std::uint32_t, kObjectKinds> kObjectLimits{
    1U << 18,  // kQp
    1U << 17,  // kCq
    1U << 18,  // kMr
    1U << 18,  // kMw
    1U << 16,  // kPd
    1U << 15,  // kSrq
    1U << 24,  // kAh
    1U << 20,  // kDeviceMemory
};
static_assert(kObjectLimits[0] <= kQpsMax / 2 && kObjectLimits[1] <= kCqsMax / 2 &&
              kObjectLimits[2] + kObjectLimits[3] <= kMrsMax / 2 &&
              kObjectLimits[5] <= kSrqsMax / 2);

std::uint32_t object_limit(const Arena& arena, ObjectKind kind);

/// An object's share of its HCA, given back when the object goes.
class Share {
  public:
    Share() = default;
    ~Share();
    Share(const Share&) = delete;
    Share& operator=(const Share&) = delete;

    /// False: the HCA has no room for as much; nothing is taken.
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

    /// In place of what it had. False: the limit forbids it, and all stays as it was.
    bool take(Process& process, std::uint64_t address, std::uint64_t length);

  private:
    void release();
    Process* process_ = nullptr;
    std::uint64_t bytes_ = 0;
};

/// For the daemon: HCAs get back what a process had that has ended.
void give_back_shares(const Arena& arena, ProcSlot& slot);

}  // namespace softib::live
