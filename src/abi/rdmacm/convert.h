// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Conversions between the structures of the public headers and those of the connection manager.

#include <infiniband/sa.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include "core/cm/commands.h"

namespace softib::abi::rdmacm {

/// Returns the length of a sockaddr by its family; 0 if the family is not supported.
socklen_t address_bytes(const sockaddr* address);

/// Returns an address of kind kNone for nullptr.
cm::Address from_sockaddr(const sockaddr* address);
void to_sockaddr(const cm::Address& address, sockaddr_storage& out);

ibv_ah_attr to_ah_attr(const cm::Destination& destination);
void to_path_rec(const cm::IdInfo& info, ibv_sa_path_rec& out);
void to_qp_attr(const cm::QpAttributes& attributes, ibv_qp_attr& out);

}  // namespace softib::abi::rdmacm
