// SPDX-License-Identifier: BSD-2-Clause
// Resolves addresses to ports, and asks for the paths that lead to them.
#include <algorithm>
#include <cerrno>

#include "core/base/time_units.h"
#include "core/cm/address.h"
#include "core/cm/host.h"

namespace softib::cm {

/// An IPv4 address is the one that was given to the port; in other families it is the port's GID.
Address Host::own_address(Family family, std::uint32_t port) const {
    if (family == Family::kIp4) {
        return surroundings_.address_of(port);
    }
    Address address;
    address.family = family;
    address.bytes = surroundings_.port(port).gid;
    return address;
}

/// Returns the first P_Key of the port's table with full membership, else the first one.
PKey Host::default_pkey(std::uint32_t port) const {
    const std::span<const PKey> table = surroundings_.port(port).pkeys;
    for (const PKey pkey : table) {
        if ((pkey.value & 0x8000) != 0 && (pkey.value & 0x7FFF) != 0) {
            return pkey;
        }
    }
    return table.empty() ? kPKeyDefaultFull : table.front();
}

/// Returns whether an IPv6 address has the subnet prefix of this host, as a GID of its subnet has.
bool Host::is_in_subnet(const Address& address) const {
    const auto port = default_port();
    constexpr std::ptrdiff_t kPrefixBytes = 8;
    return address.family == Family::kIp6 && port &&
           std::equal(address.bytes.bytes.begin(), address.bytes.bytes.begin() + kPrefixBytes,
                      surroundings_.port(*port).gid.bytes.begin());
}

Host::Resolved Host::find_destination(const Id& id, const Address& destination) const {
    Resolved found;
    auto& [gid, port, to_self] = found;
    port = id.has_port ? std::optional(id.route.port) : std::nullopt;
    if (is_multicast(destination)) {
        port = port ? port : default_port();
        gid = port ? std::optional(multicast_gid(destination, id.space, default_pkey(*port)))
                   : std::nullopt;
    } else if (destination.family == Family::kIb) {
        gid = destination.bytes;
    } else {
        gid = is_any(destination) ? std::nullopt : surroundings_.find_port(destination);
        if (!gid && (is_any(destination) || surroundings_.is_own(destination))) {
            // The machine's own address means this host: the port of the endpoint, or any.
            port = port ? port : default_port();
            gid = port ? std::optional(surroundings_.port(*port).gid) : std::nullopt;
            to_self = true;
        } else if (!gid && is_in_subnet(destination)) {
            gid = destination.bytes;  // A GID that only the SM knows, such as one of an alias.
        }
    }
    if (gid && !port) {
        port = own_port(*gid);
        to_self = port.has_value();
        port = port ? port : default_port();
    }
    return found;
}

int Host::bind_any_number(Id& id, Address source) {
    source = with_port(source, 0);
    if (source.family == Family::kIb) {
        source.service_id = 0;
        source.service_mask = 0;
    }
    std::uint16_t number = 0;
    id.bound_space = id.space;
    const PortTable::Holder holder{.id = id.handle, .address = source, .reuse = true};
    if (const int error = ports_.bind(id.space, holder, number); error != 0) {
        return error;
    }
    id.has_number = true;
    id.source = with_port(source, number);
    if (source.family == Family::kIb) {
        id.source.service_id = service_id(id.space, number);
    }
    return 0;
}

int Host::resolve_addr(Id& id, const Command& command) {
    const Address destination = plain(command.destination);
    if (!is_ip(destination) && destination.family != Family::kIb) {
        return EAFNOSUPPORT;
    }
    if (id.state == State::kIdle && command.source.family != Family::kNone) {
        if (const int error = bind(id, plain(command.source)); error != 0) {
            return error;
        }
    }
    if (id.state != State::kIdle && id.state != State::kBound) {
        return EINVAL;
    }
    const auto [gid, port, to_self] = find_destination(id, destination);
    id.destination = destination;
    if (!gid || !port) {
        report(id, EventType::kAddrError, -EHOSTUNREACH);
        return 0;
    }
    const Address source =
        to_self && !is_any(destination) ? destination : own_address(destination.family, *port);
    if (id.state == State::kIdle) {
        if (const int error = bind_any_number(id, source); error != 0) {
            return error;
        }
    } else if (is_any(id.source)) {
        id.source = with_port(source, port_of(id.source));
    }
    use_port(id, *port);
    if (destination.family == Family::kIb && destination.pkey.value != 0) {
        id.route.path.pkey = destination.pkey;
    }
    id.destination_gid = *gid;
    id.route.path.dgid = *gid;
    id.state = State::kAddrResolved;
    report(id, EventType::kAddrResolved, 0);
    return 0;
}

int Host::resolve_route(Id& id, const Command& command, std::uint64_t now_ns) {
    if (id.state != State::kAddrResolved) {
        return EINVAL;
    }
    wire::PathRecord wanted;
    wanted.sgid = id.route.path.sgid;
    wanted.dgid = id.route.path.dgid;
    wanted.pkey = id.route.path.pkey;
    wanted.reversible = true;
    wanted.numb_path = 1;
    id.state = State::kResolvingRoute;
    id.query = sa_.ask_path(id.route.port, wanted, command.timeout_ms * kNsPerMs, now_ns);
    by_query_[id.query] = id.handle;
    return 0;
}

void Host::take_path(Id& id, const SaAnswer& answer) {
    id.query = 0;
    if (id.state != State::kResolvingRoute) {
        return;
    }
    if (answer.timed_out || answer.status != 0) {
        id.state = State::kAddrResolved;
        report(id, EventType::kRouteError, answer.timed_out ? -ETIMEDOUT : -EHOSTUNREACH);
        return;
    }
    id.route.path = answer.path;
    id.has_path = true;
    id.state = State::kRouteResolved;
    report(id, EventType::kRouteResolved, 0);
}

/// Takes a path that the program did not get by resolve_route().
int Host::set_route(Id& id, const Command& command) {
    if (id.state != State::kAddrResolved && id.state != State::kRouteResolved) {
        return EINVAL;
    }
    const auto path = wire::parse<wire::PathRecord>(command.path);
    if (own_port(path.sgid) != id.route.port) {
        return EINVAL;
    }
    id.route.path = path;
    id.has_path = true;
    id.state = State::kRouteResolved;
    report(id, EventType::kRouteResolved, 0);
    return 0;
}

Destination destination_of(const Route& route, const LocalPort& port) {
    Destination to;
    to.dlid = route.path.dlid;
    to.sl = route.path.sl;
    to.path_bits = static_cast<std::uint8_t>(route.path.slid.value & ((1U << port.lmc) - 1));
    to.static_rate = route.path.rate;
    to.port_num = 1;
    // Packets through a router or to a group need a GRH.
    if (route.path.hop_limit > 1 || route.path.dgid.is_multicast()) {
        to.is_global = 1;
        to.hop_limit = route.path.hop_limit;
        to.traffic_class = route.path.tclass;
        to.flow_label = route.path.flow_label;
    }
    to.dgid = route.path.dgid;
    return to;
}

}  // namespace softib::cm
