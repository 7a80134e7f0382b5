// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What happens to MADs on cables. The daemon forwards MADs itself, so it applies the faults of a
// cable (softib fault) to them, and writes those that arrive at a port with a capture (softib
// capture) as the packets that they would be on a real cable. Packet path only.

#include <cstdint>
#include <span>
#include <vector>

#include "core/agent/mesh.h"
#include "core/base/prng.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/types.h"

namespace softib::daemon {

class MadCables final : public agent::Cables {
  public:
    /// `places` has, for each node of the mesh, its place in the arena. Both must outlive this
    /// object.
    MadCables(const shm::Arena& arena, std::span<const shm::NodeRef> places)
        : arena_(arena), places_(places) {}

    /// Returns whether a MAD passes a cable, and captures it if so.
    bool passes(const agent::Passage& passage) override;

  private:
    bool is_lost(agent::End from);
    void show(const agent::Passage& passage);

    const shm::Arena& arena_;
    std::span<const shm::NodeRef> places_;
    Prng prng_{1};
};

}  // namespace softib::daemon
