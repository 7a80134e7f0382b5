// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a host's connection manager knows without asking the fabric: the host's own ports, as the SM
// set them up, and the port that each IP address means.

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/ids.h"
#include "core/cm/commands.h"

namespace softib::cm {

/// A port of this host. Each HCA has one port.
struct LocalPort {
    Guid node_guid{};
    Gid gid{};
    Lid lid{};
    std::uint8_t lmc = 0;
    Lid sm_lid{};
    std::uint8_t sm_sl = 0;
    bool active = false;
    std::span<const PKey> pkeys{};  ///< The P_Key table.
};

class Surroundings {
  public:
    virtual ~Surroundings() = default;

    virtual std::uint32_t port_count() const = 0;
    virtual LocalPort port(std::uint32_t index) const = 0;

    /// Returns the GID of the port that has this IP address, anywhere in the fabric; std::nullopt
    /// if none has it.
    virtual std::optional<Gid> find_port(const Address& ip) const = 0;
    /// Returns the IP address by which other hosts know a port of this host.
    virtual Address address_of(std::uint32_t port) const = 0;
    /// Returns whether an address is the machine's own, such as a loopback address. On each virtual
    /// host such an address means that host.
    virtual bool is_own(const Address& ip) const = 0;
};

}  // namespace softib::cm
