// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a host's connection manager knows without asking the fabric: its own ports, as the subnet
// manager set them up, and the port that each address means.

#include <cstdint>
#include <optional>
#include <span>

#include "core/base/ids.h"
#include "core/cm/commands.h"

namespace softib::cm {

/// A port of this host. Each device has one.
struct LocalPort {
    Guid node_guid{};
    Gid gid{};
    Lid lid{};
    std::uint8_t lmc = 0;
    Lid sm_lid{};
    std::uint8_t sm_sl = 0;
    bool active = false;
    std::span<const PKey> pkeys{};  ///< Its table.
};

class Surroundings {
  public:
    virtual ~Surroundings() = default;

    virtual std::uint32_t port_count() const = 0;
    virtual LocalPort port(std::uint32_t index) const = 0;

    /// The GID of the port that has this IP address, anywhere in the fabric.
    virtual std::optional<Gid> find_port(const Address& ip) const = 0;
    /// The IP address by which a port of this host is known.
    virtual Address address_of(std::uint32_t port) const = 0;
    /// Whether the address is the machine's own: it means this host, whichever that is.
    virtual bool is_own(const Address& ip) const = 0;
};

}  // namespace softib::cm
