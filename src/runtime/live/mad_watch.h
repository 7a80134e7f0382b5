// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Management datagrams for captures (softib capture): the daemon carries them, and writes those
// that come in at a port that somebody watches as the packets they are on a real cable.

#include <cstdint>
#include <span>
#include <vector>

#include "core/agent/mesh.h"
#include "runtime/live/arena.h"
#include "runtime/live/types.h"

namespace softib::live {

class MadWatch final : public agent::CableWatcher {
  public:
    /// `places`: by mesh node, where it stands in the arena. Both outlive it.
    MadWatch(const Arena& arena, std::span<const NodeRef> places)
        : arena_(arena), places_(places) {}

    void passes(const agent::Passage& passage) override;

  private:
    const Arena& arena_;
    std::span<const NodeRef> places_;
};

}  // namespace softib::live
