// SPDX-License-Identifier: BSD-2-Clause
// rdma_getaddrinfo. The system's resolver does the work; a name that it does not know may be that
// of a host of the fabric.
#include <infiniband/ib.h>
#include <netdb.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "abi/rdmacm/convert.h"
#include "abi/rdmacm/fabric_names.h"
#include "abi/rdmacm/id.h"

namespace softib::abi::rdmacm {

namespace {

addrinfo to_system_hints(const rdma_addrinfo& hints) {
    addrinfo out{};
    if ((hints.ai_flags & RAI_PASSIVE) != 0) {
        out.ai_flags |= AI_PASSIVE;
    }
    if ((hints.ai_flags & RAI_NUMERICHOST) != 0) {
        out.ai_flags |= AI_NUMERICHOST;
    }
    out.ai_family = hints.ai_family == AF_IB ? AF_UNSPEC : hints.ai_family;
    if (hints.ai_qp_type != 0) {
        out.ai_socktype = hints.ai_qp_type == IBV_QPT_UD ? SOCK_DGRAM : SOCK_STREAM;
    }
    if (hints.ai_port_space == RDMA_PS_TCP) {
        out.ai_protocol = IPPROTO_TCP;
    } else if (hints.ai_port_space == RDMA_PS_UDP || hints.ai_port_space == RDMA_PS_IPOIB) {
        out.ai_protocol = IPPROTO_UDP;
    } else if (out.ai_socktype != 0) {
        out.ai_protocol = out.ai_socktype == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP;
    }
    return out;
}

bool copy_address(sockaddr*& to, socklen_t& to_bytes, const sockaddr* from, socklen_t bytes) {
    to = static_cast<sockaddr*>(std::malloc(bytes));
    if (to == nullptr) {
        errno = ENOMEM;
        return false;
    }
    std::memcpy(to, from, bytes);
    to_bytes = bytes;
    return true;
}

/// Converts a GID that was written as an IPv6 address into a sockaddr_ib.
void to_ib(const sockaddr_in6& from, int port_space, sockaddr_ib& to) {
    std::memset(&to, 0, sizeof to);
    to.sib_family = AF_IB;
    to.sib_pkey = htobe16(0xFFFF);
    to.sib_flowinfo = from.sin6_flowinfo;
    std::memcpy(&to.sib_addr, &from.sin6_addr, sizeof to.sib_addr);
    const std::uint16_t port = be16toh(from.sin6_port);
    to.sib_sid = htobe64((static_cast<std::uint64_t>(port_space) << 16) + port);
    to.sib_sid_mask = htobe64((port_space != 0 ? RDMA_IB_IP_PS_MASK : 0) |
                              (port != 0 ? RDMA_IB_IP_PORT_MASK : 0));
    to.sib_scope_id = from.sin6_scope_id;
}

bool fill(rdma_addrinfo& out, const rdma_addrinfo& hints, const addrinfo& found) {
    out.ai_qp_type = hints.ai_qp_type != 0             ? hints.ai_qp_type
                     : found.ai_socktype == SOCK_DGRAM ? int{IBV_QPT_UD}
                                                       : int{IBV_QPT_RC};
    out.ai_port_space = hints.ai_port_space != 0           ? hints.ai_port_space
                        : found.ai_protocol == IPPROTO_UDP ? int{RDMA_PS_UDP}
                                                           : int{RDMA_PS_TCP};
    const bool passive = (hints.ai_flags & RAI_PASSIVE) != 0;
    out.ai_flags = passive ? RAI_PASSIVE : 0;
    char*& name = passive ? out.ai_src_canonname : out.ai_dst_canonname;
    if (found.ai_canonname != nullptr) {
        name = strdup(found.ai_canonname);
    }
    sockaddr*& address = passive ? out.ai_src_addr : out.ai_dst_addr;
    socklen_t& bytes = passive ? out.ai_src_len : out.ai_dst_len;
    const bool wants_ib = (hints.ai_flags & RAI_FAMILY) != 0 && hints.ai_family == AF_IB &&
                          (hints.ai_flags & RAI_NUMERICHOST) != 0;
    if (wants_ib && found.ai_family == AF_INET6) {
        sockaddr_in6 in;
        sockaddr_ib ib;
        std::memcpy(&in, found.ai_addr, sizeof in);
        to_ib(in, out.ai_port_space, ib);
        out.ai_family = AF_IB;
        return copy_address(address, bytes, reinterpret_cast<const sockaddr*>(&ib), sizeof ib);
    }
    out.ai_family = found.ai_family;
    return copy_address(address, bytes, found.ai_addr, found.ai_addrlen);
}

/// Resolves a name and a service. Returns 0, -1 with errno set, or an error of getaddrinfo.
int resolve(const char* node, const char* service, const rdma_addrinfo& hints, bool has_hints,
            rdma_addrinfo& out) {
    const addrinfo system_hints = to_system_hints(hints);
    addrinfo* found = nullptr;
    int result = getaddrinfo(node, service, has_hints ? &system_hints : nullptr, &found);
    char address[INET_ADDRSTRLEN];
    if (result != 0 && node != nullptr && find_fabric_host(node, address, sizeof address)) {
        result = getaddrinfo(address, service, has_hints ? &system_hints : nullptr, &found);
    }
    if (result != 0) {
        return result;
    }
    const bool filled = fill(out, hints, *found);
    freeaddrinfo(found);
    return filled ? 0 : -1;
}

}  // namespace

}  // namespace softib::abi::rdmacm

using namespace softib::abi::rdmacm;

extern "C" {

int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                     rdma_addrinfo** res) {
    if (node == nullptr && service == nullptr && hints == nullptr) {
        return fail(EINVAL);
    }
    static const rdma_addrinfo kNoHints{};
    const rdma_addrinfo& wanted = hints == nullptr ? kNoHints : *hints;
    auto* const out = static_cast<rdma_addrinfo*>(std::calloc(1, sizeof(rdma_addrinfo)));
    if (out == nullptr) {
        return fail(ENOMEM);
    }
    int result = 0;
    if (node != nullptr || service != nullptr) {
        result = resolve(node, service, wanted, hints != nullptr, *out);
    } else {
        out->ai_flags = wanted.ai_flags;
        out->ai_family = wanted.ai_family;
        out->ai_qp_type = wanted.ai_qp_type;
        out->ai_port_space = wanted.ai_port_space;
        if (wanted.ai_dst_len != 0 && !copy_address(out->ai_dst_addr, out->ai_dst_len,
                                                    wanted.ai_dst_addr, wanted.ai_dst_len)) {
            result = -1;
        }
    }
    if (result == 0 && out->ai_src_len == 0 && wanted.ai_src_len != 0 &&
        !copy_address(out->ai_src_addr, out->ai_src_len, wanted.ai_src_addr, wanted.ai_src_len)) {
        result = -1;
    }
    if (result != 0) {
        const int error = errno;
        rdma_freeaddrinfo(out);
        errno = error;
        return result;
    }
    *res = out;
    return 0;
}

void rdma_freeaddrinfo(rdma_addrinfo* res) {
    while (res != nullptr) {
        rdma_addrinfo* const next = res->ai_next;
        std::free(res->ai_connect);
        std::free(res->ai_route);
        std::free(res->ai_src_canonname);
        std::free(res->ai_dst_canonname);
        std::free(res->ai_src_addr);
        std::free(res->ai_dst_addr);
        std::free(res);
        res = next;
    }
}

}  // extern "C"
