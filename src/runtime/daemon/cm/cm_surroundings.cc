// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/cm/cm_surroundings.h"

#include <ifaddrs.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

#include "core/cm/address.h"
#include "runtime/shm/addresses.h"

namespace softib::daemon {

CmSurroundings::CmSurroundings(const shm::Arena& arena, const AddressMap& addresses,
                               std::uint32_t host)
    : arena_(arena), addresses_(addresses), host_(host), pkeys_(arena.hosts[host].hca_count) {}

cm::LocalPort CmSurroundings::port(std::uint32_t index) const {
    const shm::HcaRecord& hca = arena_.hcas[hca_of(index)];
    std::vector<PKey>& pkeys = pkeys_[index];
    pkeys.clear();
    for (const auto& pkey : hca.pkeys) {
        pkeys.emplace_back(pkey.load(std::memory_order_relaxed));
    }
    cm::LocalPort port;
    port.node_guid = Guid{hca.node_guid};
    port.gid = gid_at(hca, 0);
    port.lid = Lid{hca.lid.load(std::memory_order_relaxed)};
    port.lmc = hca.lmc;
    port.sm_lid = Lid{hca.sm_lid};
    port.sm_sl = hca.sm_sl;
    port.active = hca.state.load(std::memory_order_relaxed) == PortState::kActive;
    port.pkeys = pkeys;
    return port;
}

std::optional<Gid> CmSurroundings::find_port(const cm::Address& ip) const {
    const std::uint32_t given = addresses_.find(ip);
    const std::uint32_t hca = given != UINT32_MAX ? given : find_hca(arena_, ip);
    return hca == UINT32_MAX ? std::nullopt : std::optional(gid_at(arena_.hcas[hca], 0));
}

cm::Address CmSurroundings::address_of(std::uint32_t port) const {
    return addresses_.address_of(hca_of(port)).value_or(address_of_hca(arena_, hca_of(port)));
}

bool CmSurroundings::is_own(const cm::Address& ip) const {
    if (cm::is_loopback(ip)) {
        return !shm::is_generated(ip);
    }
    ifaddrs* interfaces = nullptr;
    if (getifaddrs(&interfaces) != 0) {
        return false;
    }
    bool found = false;
    for (const ifaddrs* each = interfaces; each != nullptr && !found; each = each->ifa_next) {
        if (each->ifa_addr == nullptr) {
            continue;
        }
        if (each->ifa_addr->sa_family == AF_INET && ip.family == cm::Family::kIp4) {
            sockaddr_in address{};
            std::memcpy(&address, each->ifa_addr, sizeof address);
            found = std::memcmp(&address.sin_addr, ip.bytes.bytes.data(), 4) == 0;
        } else if (each->ifa_addr->sa_family == AF_INET6 && ip.family == cm::Family::kIp6) {
            sockaddr_in6 address{};
            std::memcpy(&address, each->ifa_addr, sizeof address);
            found = std::memcmp(&address.sin6_addr, ip.bytes.bytes.data(), 16) == 0;
        }
    }
    freeifaddrs(interfaces);
    return found;
}

}  // namespace softib::daemon
