// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Addresses that the user gave to ports in addition to the generated ones, as
// "10.0.0.1=h0,fd00::2=h1/mlx5_1".

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/cm/commands.h"
#include "runtime/shm/arena.h"

namespace softib::daemon {

class AddressMap {
  public:
    struct Entry {
        cm::Address address{};
        std::uint32_t hca = 0;
    };

    /// Reads a list of addresses. The error says which entry is wrong, and what it should be.
    static std::expected<AddressMap, std::string> parse(const shm::Arena& arena,
                                                        std::string_view text);

    const std::vector<Entry>& entries() const { return entries_; }
    /// Returns the HCA with this address, or UINT32_MAX if there is none.
    std::uint32_t find(const cm::Address& address) const;
    /// Returns the first IPv4 address of an HCA, or std::nullopt if it has none.
    std::optional<cm::Address> address_of(std::uint32_t hca) const;

  private:
    std::vector<Entry> entries_;
};

}  // namespace softib::daemon
