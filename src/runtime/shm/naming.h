// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The devices that a program sees, and their names. The verbs library, sysfs and the umad library
// all take them from here, so that they agree.
//
// A program runs on one host, or on several at once ("h0,h1"), as some tests do. On one host the
// devices have the names of the fabric's description. On several, the devices come in the order of
// the list of hosts, and one running index replaces the number at the end of each name, because
// every host has its own mlx5_0.
//
// Nothing here allocates, throws or locks.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "runtime/shm/arena.h"

namespace softib::shm {

/// A device that a program sees.
struct DeviceEntry {
    std::uint32_t hca;  ///< Index into the HCA table.
    char name[64];
};

/// Lists the devices of a comma-separated list of hosts. Returns how many there are, also where
/// `out` holds fewer; 0 with errno ENOENT if a host is unknown or the list is empty.
std::size_t list_devices(const Arena& arena, std::string_view hosts, std::span<DeviceEntry> out);

/// Returns the index of the host with this name in the host table, or UINT32_MAX if there is none.
std::uint32_t find_host(const Arena& arena, std::string_view name);

}  // namespace softib::shm
