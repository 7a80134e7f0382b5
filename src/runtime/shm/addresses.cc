// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/addresses.h"

#include <algorithm>

#include "core/cm/address.h"

namespace softib::shm {

namespace {

constexpr std::uint32_t kLoopbackNet = 127;
constexpr std::uint32_t kFirstNet = 55;
constexpr std::uint32_t kHostsPerNet = 256;

}  // namespace

cm::Address address_of_hca(const Arena& arena, std::uint32_t hca) {
    if (arena.header->link_layer == LinkLayer::kEthernet) {
        cm::Address address;
        address.family = cm::Family::kIp6;
        address.bytes = arena.hcas[hca].ip_gid;
        return cm::plain(address);
    }
    const std::uint32_t host = arena.hcas[hca].host;
    return cm::ip4(kLoopbackNet, static_cast<std::uint8_t>(kFirstNet + host / kHostsPerNet),
                   static_cast<std::uint8_t>(host % kHostsPerNet),
                   static_cast<std::uint8_t>(hca - arena.hosts[host].hca_first + 1));
}

bool is_generated(const cm::Address& address) {
    return address.family == cm::Family::kIp4 && address.bytes.bytes[0] == kLoopbackNet &&
           address.bytes.bytes[1] >= kFirstNet;
}

std::uint32_t find_hca(const Arena& arena, const cm::Address& any) {
    const cm::Address address = cm::plain(any);
    if (arena.header->link_layer == LinkLayer::kEthernet) {
        for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
            if (cm::same_host(address_of_hca(arena, i), address)) {
                return i;
            }
        }
        return UINT32_MAX;
    }
    if (is_generated(address)) {
        const auto& ip = address.bytes.bytes;
        const std::uint32_t host = (ip[1] - kFirstNet) * kHostsPerNet + ip[2];
        if (host < arena.header->hosts && ip[3] >= 1 && ip[3] <= arena.hosts[host].hca_count) {
            return arena.hosts[host].hca_first + ip[3] - 1;
        }
        return UINT32_MAX;
    }
    if (address.family == cm::Family::kIp6) {
        for (std::uint32_t i = 0; i < arena.header->hcas; ++i) {
            if (gid_at(arena.hcas[i], 0) == address.bytes) {
                return i;
            }
        }
    }
    return UINT32_MAX;
}

}  // namespace softib::shm
