// SPDX-License-Identifier: BSD-2-Clause
#include "spec/ethernet_ports.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "core/hca/qp_attr.h"
#include "core/wire/packet/roce.h"

namespace softib::spec {

namespace {

constexpr std::uint32_t kPortsPerHost = 256;
/// Most bytes around a payload, with room to spare: IPv6, UDP, BTH, the largest extended headers,
/// ICRC. Soft-RoCE has the same number, so that both sides find the same MTU.
constexpr std::uint32_t kHeaderBytes = 80;

std::optional<Gid> parse_ip_gid(const std::string& text) {
    in_addr v4{};
    if (inet_pton(AF_INET, text.c_str(), &v4) == 1) {
        return wire::ipv4_gid(ntohl(v4.s_addr));
    }
    Gid gid;
    return inet_pton(AF_INET6, text.c_str(), gid.bytes.data()) == 1 ? std::optional(gid)
                                                                    : std::nullopt;
}

std::optional<Gid> gid_of(const sockaddr* address) {
    if (address != nullptr && address->sa_family == AF_INET) {
        sockaddr_in v4{};
        std::memcpy(&v4, address, sizeof v4);
        return wire::ipv4_gid(ntohl(v4.sin_addr.s_addr));
    }
    if (address != nullptr && address->sa_family == AF_INET6) {
        sockaddr_in6 v6{};
        std::memcpy(&v6, address, sizeof v6);
        Gid gid;
        std::memcpy(gid.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
        return gid;
    }
    return std::nullopt;
}

/// Returns whether an interface has this address. The loopback interface has all of 127.0.0.0/8,
/// whatever addresses it lists.
bool has(const ifaddrs& interface, const Gid& gid) {
    if (wire::is_ipv4(gid) && gid.bytes[12] == IN_LOOPBACKNET) {
        return (interface.ifa_flags & IFF_LOOPBACK) != 0;
    }
    return gid_of(interface.ifa_addr) == gid;
}

std::uint32_t mtu_of(const std::string& interface) {
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ifreq request{};
    interface.copy(request.ifr_name, IFNAMSIZ - 1);
    const bool known = fd >= 0 && ioctl(fd, SIOCGIFMTU, &request) == 0;
    close(fd);
    return known ? static_cast<std::uint32_t>(request.ifr_mtu) : 0;
}

std::uint8_t mtu_code_for(std::uint32_t interface_mtu) {
    std::uint8_t code = hca::kMtuCodeMax;
    while (code > hca::kMtuCodeMin && hca::mtu_bytes(code) + kHeaderBytes > interface_mtu) {
        --code;
    }
    return code;
}

std::expected<EthernetPort, std::string> find_port(const Gid& gid) {
    ifaddrs* list = nullptr;
    if (getifaddrs(&list) != 0) {
        return std::unexpected("cannot list the network interfaces of this machine");
    }
    const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
        if (has(*each, gid)) {
            return EthernetPort{.gid = gid,
                                .mtu_code = mtu_code_for(mtu_of(each->ifa_name)),
                                .net_interface = if_nametoindex(each->ifa_name),
                                .net_name = each->ifa_name};
        }
    }
    return std::unexpected(fmt::format(
        "no network interface of this machine has the address {}: see --roce-addresses, or 'ip "
        "address add'",
        ip_text(gid)));
}

/// Returns the position of "h0" or "h0/mlx5_1" among all HCAs; std::nullopt if there is none.
std::optional<std::size_t> find_hca(const topo::Fabric& fabric, std::string_view name) {
    const std::string_view host = name.substr(0, name.find('/'));
    std::size_t first = 0;
    for (const topo::Host& each : fabric.hosts) {
        if (each.name == host) {
            if (host.size() == name.size()) {
                return first;
            }
            const auto found = std::ranges::find(each.device_names, name.substr(host.size() + 1));
            return found == each.device_names.end()
                       ? std::nullopt
                       : std::optional(first +
                                       static_cast<std::size_t>(found - each.device_names.begin()));
        }
        first += each.hcas.size();
    }
    return std::nullopt;
}

std::expected<void, std::string> give_addresses(const topo::Fabric& fabric, std::string_view list,
                                                std::vector<Gid>& gids) {
    std::set<std::size_t> given;
    std::vector<Gid> taken;
    while (!list.empty()) {
        const std::string_view entry = list.substr(0, list.find(','));
        list.remove_prefix(std::min(list.size(), entry.size() + 1));
        const std::size_t equals = entry.find('=');
        const auto gid = parse_ip_gid(std::string(entry.substr(0, equals)));
        const auto hca = equals == std::string_view::npos
                             ? std::nullopt
                             : find_hca(fabric, entry.substr(equals + 1));
        if (!hca || !gid) {
            return std::unexpected(
                fmt::format("'{}' among the RoCE addresses is not IP=HOST or IP=HOST/DEVICE{}",
                            entry, gid ? " with a host and device of this fabric" : ""));
        }
        if (!given.insert(*hca).second || std::ranges::find(taken, *gid) != taken.end()) {
            return std::unexpected(
                fmt::format("'{}' among the RoCE addresses is the second of this device or of this "
                            "address: leave one of them out",
                            entry));
        }
        taken.push_back(*gid);
        gids[*hca] = *gid;
    }
    return {};
}

}  // namespace

std::string ip_text(const Gid& gid) {
    constexpr std::size_t kIpv4At = 12;
    char text[INET6_ADDRSTRLEN]{};
    const bool v4 = wire::is_ipv4(gid);
    inet_ntop(v4 ? AF_INET : AF_INET6, v4 ? &gid.bytes[kIpv4At] : gid.bytes.data(), text,
              sizeof text);
    return text;
}

std::expected<std::vector<EthernetPort>, std::string> plan_ethernet_ports(
    const topo::Fabric& fabric, const EthernetPlan& plan) {
    in_addr base{};
    if (inet_pton(AF_INET, plan.base.c_str(), &base) != 1) {
        return std::unexpected(
            fmt::format("the base of RoCE addresses is an IPv4 address, as {}, not '{}'",
                        kEthernetBase, plan.base));
    }
    std::vector<Gid> gids;
    for (std::uint32_t host = 0; host < fabric.hosts.size(); ++host) {
        for (std::uint32_t port = 1; port <= fabric.hosts[host].hcas.size(); ++port) {
            gids.push_back(wire::ipv4_gid(ntohl(base.s_addr) + host * kPortsPerHost + port));
        }
    }
    if (const auto given = give_addresses(fabric, plan.addresses, gids); !given) {
        return std::unexpected(given.error());
    }
    std::vector<EthernetPort> ports;
    for (const Gid& gid : gids) {
        auto port = find_port(gid);
        if (!port) {
            return std::unexpected(port.error());
        }
        ports.push_back(std::move(*port));
    }
    return ports;
}

}  // namespace softib::spec
