// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The memory of all programs, as their HCAs reach it: keys in the arena's table, bytes in the
// arena, in another process, or behind its helper (remote.h). The caller holds a hazard.

#include <cstdint>
#include <vector>

#include "core/hca/memory_table.h"
#include "runtime/direct/process.h"

namespace softib::carrier {

/// By these the carrier's own queue pairs (SHARP) reach its own memory. No program's queue pair has
/// this protection domain.
inline constexpr hca::Pd kOwnPd{UINT32_MAX};
inline constexpr std::uint32_t kOwnKey = UINT32_MAX;

class ArenaMemory final : public hca::Memory {
  public:
    explicit ArenaMemory(live::Process& process);

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
    const live::MrShared& entry(const hca::Place& place) const {
        return process_.arena.mrs[place.entry];
    }
    hca::Place place(const live::MrShared& mr, std::uint64_t addr, std::uint32_t length) const;

    live::Process& process_;
    mutable std::vector<std::uint8_t> bounce_;  ///< What was read from elsewhere, round and round.
    mutable std::size_t bounce_at_ = 0;
};

}  // namespace softib::carrier
