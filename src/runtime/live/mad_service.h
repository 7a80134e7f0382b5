// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Where a management datagram goes and who answers it: subnet administration at the SM's LID. No
// other agent exists yet; a node without one says so. What does not arrive is not answered.

#include <cstdint>
#include <optional>

#include "core/sm/sa.h"
#include "core/wire/mad.h"
#include "runtime/live/arena.h"
#include "runtime/live/protocol.h"

namespace softib::live {

class MadService {
  public:
    explicit MadService(const Arena& arena);

    /// A MAD that a program on this HCA sends. Nothing: no answer will ever come.
    std::optional<wire::MadBytes> handle(std::uint32_t hca, const MadFrame& frame,
                                         const wire::MadBytes& mad);

  private:
    bool arrives(std::uint32_t hca, const MadFrame& frame, const wire::MadBytes& mad) const;
    sm::SaPort port_of(std::uint32_t hca) const;
    std::optional<sm::SaPort> find_port(const Gid& gid) const;

    const Arena& arena_;
    sm::SubnetAdmin sa_;
};

}  // namespace softib::live
