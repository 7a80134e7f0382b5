// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The IP addresses of a fabric's ports. There is no IP over InfiniBand here: the addresses only say
// which port a program means. Port P (from 1) of the host with index H is 127.(55 + H / 256).(H mod
// 256).P, which every machine takes for its own without setup: a program's TCP connections work on
// the same addresses. An IPv6 address that is a port's GID means that port. On Ethernet ports have
// IP addresses, and these are meant (ethernet_ports.h).
//
// Linked into the shims: nothing here allocates, throws or locks.

#include <cstdint>

#include "core/cm/commands.h"
#include "runtime/shm/arena.h"

namespace softib::live {

/// The generated address of an HCA's port.
cm::Address address_of_hca(const Arena& arena, std::uint32_t hca);

/// The HCA whose port an address means; UINT32_MAX: none.
std::uint32_t find_hca(const Arena& arena, const cm::Address& address);

/// Whether an IPv4 address lies where generated ones do.
bool is_generated(const cm::Address& address);

}  // namespace softib::live
