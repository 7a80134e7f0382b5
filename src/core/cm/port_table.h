// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The IP port numbers that a host's endpoints hold, in each port space, as sockets hold theirs.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/base/prng.h"
#include "core/cm/commands.h"

namespace softib::cm {

class PortTable {
  public:
    struct Holder {
        IdHandle id = 0;
        Address address{};
        bool reuse = false;
        bool af_only = false;  ///< Whether an endpoint of the other family may have the port too.
        bool listens = false;
    };

    explicit PortTable(std::uint64_t seed) : prng_(seed) {}

    /// Gives the holder the port number of its address, or a free one if that is 0, and sets `port`
    /// to it. Returns 0, or EADDRINUSE if other holders have it.
    int bind(PortSpace space, const Holder& holder, std::uint16_t& port);
    /// Marks a holder as listening. Returns 0, or EADDRINUSE if another holder of the port number
    /// listens at an overlapping address.
    int listen(PortSpace space, std::uint16_t port, IdHandle id);
    void release(PortSpace space, std::uint16_t port, IdHandle id);
    const std::vector<Holder>& holders(PortSpace space, std::uint16_t port) const;

  private:
    using Key = std::pair<PortSpace, std::uint16_t>;

    std::map<Key, std::vector<Holder>> ports_;
    Prng prng_;
};

}  // namespace softib::cm
