// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Routed fabrics, kept for the next question about the same cluster. To route a fabric and to play
// the exchanges of a mapping takes most of the time of a question about a training step, and a
// program that asks many has few clusters. The fabric of a question is its own until the answer is
// there, so several threads may ask.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "plan/train/fabric_communication.h"

namespace softib::answer {

class Networks {
  public:
    Networks();
    /// Returns the network of a job on the first `gpus` GPUs of a cluster: one that was kept and
    /// that nobody has, else a new one. When its last owner drops it, it is kept again, unless
    /// something failed on it. The error says what does not fit.
    std::expected<std::shared_ptr<plan::Communication>, std::string> take(
        const plan::Cluster& cluster, std::uint32_t gpus, const plan::PlacementOptions& options);
    /// Returns how many networks are kept that nobody has.
    std::size_t kept() const;

  private:
    struct Shelf;
    std::shared_ptr<Shelf> shelf_;
};

}  // namespace softib::answer
