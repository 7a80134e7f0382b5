// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The IP addresses of a fabric's ports. There is no IP over InfiniBand here: an address only says
// which port a program means. Port P (from 1) of the host with index H has the generated address
// 127.(55 + H / 256).(H mod 256).P. Every machine takes it for its own without setup, so that a
// program's TCP connections work on the same addresses. An IPv6 address that is a port's GID means
// that port. On Ethernet a port has the IP address of a network interface (ethernet_ports.h).
//
// Linked into libraries that programs load: nothing here allocates, throws or locks.

#include <cstdint>

#include "core/cm/commands.h"
#include "runtime/shm/arena.h"

namespace softib::shm {

/// Returns the address of an HCA's port: generated, or on Ethernet that of its network interface.
cm::Address address_of_hca(const Arena& arena, std::uint32_t hca);

/// Returns the HCA whose port an address means, or UINT32_MAX if there is none.
std::uint32_t find_hca(const Arena& arena, const cm::Address& address);

/// Returns whether an address is in the range of generated ones; an HCA need not have it.
bool is_generated(const cm::Address& address);

}  // namespace softib::shm
