// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The IP port numbers of a host's endpoints, per port space, as sockets have theirs.

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
        bool af_only = false;  ///< Leaves the port to the other family of addresses.
        bool listens = false;
    };

    explicit PortTable(std::uint64_t seed) : prng_(seed) {}

    /// Takes the port of the address, or any where that is 0. Returns 0 or EADDRINUSE; `port`: the
    /// one.
    int bind(PortSpace space, const Holder& holder, std::uint16_t& port);
    /// Returns 0, or EADDRINUSE where another one that shares the port listens at the address.
    int listen(PortSpace space, std::uint16_t port, IdHandle id);
    void release(PortSpace space, std::uint16_t port, IdHandle id);
    const std::vector<Holder>& holders(PortSpace space, std::uint16_t port) const;

  private:
    using Key = std::pair<PortSpace, std::uint16_t>;

    std::map<Key, std::vector<Holder>> ports_;
    Prng prng_;
};

}  // namespace softib::cm
