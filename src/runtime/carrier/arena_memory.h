// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory of all programs, as their HCAs reach it: keys are in the arena's table, bytes in the
// arena, in another process, or behind that process's helper (remote.h). The caller must hold a
// hazard.

#include <cstdint>
#include <vector>

#include "core/hca/memory_table.h"
#include "runtime/direct/process.h"

namespace softib::carrier {

/// The protection domain of the carrier's own queue pairs (SHARP), which use the carrier's memory.
/// No program's queue pair has it.
inline constexpr hca::Pd kOwnPd{UINT32_MAX};
/// The L_Key by which the carrier's own queue pairs reach the carrier's memory.
inline constexpr std::uint32_t kOwnKey = UINT32_MAX;

class ArenaMemory final : public hca::Memory {
  public:
    explicit ArenaMemory(direct::Process& process);

    std::optional<hca::Place> local(std::uint32_t lkey, hca::Pd pd, std::uint64_t addr,
                                    std::uint32_t length, std::uint32_t access) const override;
    std::optional<hca::Place> remote(std::uint32_t rkey, hca::Pd pd, Qpn at, std::uint64_t addr,
                                     std::uint32_t length, std::uint32_t access) const override;
    bool invalidate(std::uint32_t rkey, hca::Pd pd, Qpn at) override;
    bool bind(const hca::BindRequest& request, hca::Pd pd, Qpn by) override;
    std::optional<const std::uint8_t*> read(hca::Place from, std::uint32_t length) const override;
    bool write(hca::Place to, const std::uint8_t* from, std::uint32_t length) override;
    std::optional<std::uint64_t> execute(hca::Place word,
                                         const hca::AtomicOperands& operands) override;

  private:
    const shm::MrShared& entry(const hca::Place& place) const {
        return process_.self.arena.mrs[place.entry];
    }
    hca::Place place(const shm::MrShared& mr, std::uint64_t addr, std::uint32_t length) const;

    direct::Process& process_;
    mutable std::vector<std::uint8_t> bounce_;  ///< Ring of bytes read from outside the arena.
    mutable std::size_t bounce_at_ = 0;         ///< Where the next bytes go in bounce_.
};

}  // namespace softib::carrier
