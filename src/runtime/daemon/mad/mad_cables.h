// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What happens to management datagrams on cables, for the daemon carries them: the faults of a
// cable (softib fault) lose some, and those that come in at a port that somebody watches (softib
// capture) are written as the packets they are on a real cable.

#include <cstdint>
#include <span>
#include <vector>

#include "core/agent/mesh.h"
#include "core/base/prng.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/types.h"

namespace softib::live {

class MadCables final : public agent::Cables {
  public:
    /// `places`: by mesh node, where it stands in the arena. Both outlive it.
    MadCables(const Arena& arena, std::span<const NodeRef> places)
        : arena_(arena), places_(places) {}

    bool passes(const agent::Passage& passage) override;

  private:
    bool is_lost(agent::End from);
    void show(const agent::Passage& passage);

    const Arena& arena_;
    std::span<const NodeRef> places_;
    Prng prng_{1};
};

}  // namespace softib::live
