// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the CM of a virtual host knows of its ports and of addresses. It comes from the arena, from
// the addresses that the user gave, and from the machine's network interfaces.

#include <vector>

#include "core/cm/surroundings.h"
#include "runtime/daemon/cm/address_map.h"
#include "runtime/shm/arena.h"

namespace softib::daemon {

class CmSurroundings final : public cm::Surroundings {
  public:
    /// `arena` and `addresses` must outlive this object.
    CmSurroundings(const shm::Arena& arena, const AddressMap& addresses, std::uint32_t host);

    std::uint32_t port_count() const override { return arena_.hosts[host_].hca_count; }
    cm::LocalPort port(std::uint32_t index) const override;
    std::optional<Gid> find_port(const cm::Address& ip) const override;
    cm::Address address_of(std::uint32_t port) const override;
    bool is_own(const cm::Address& ip) const override;

    std::uint32_t hca_of(std::uint32_t port) const { return arena_.hosts[host_].hca_first + port; }

  private:
    const shm::Arena& arena_;
    const AddressMap& addresses_;
    std::uint32_t host_;
    mutable std::vector<std::vector<PKey>> pkeys_;  ///< P_Keys of each port as last read.
};

}  // namespace softib::daemon
