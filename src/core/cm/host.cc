// SPDX-License-Identifier: BSD-2-Clause
// Creates, binds and destroys endpoints, and dispatches commands, MADs and timeouts.
#include "core/cm/host.h"

#include <algorithm>
#include <cerrno>

#include "core/cm/address.h"

namespace softib::cm {

Host::Host(const Surroundings& surroundings, std::uint64_t seed)
    : surroundings_(surroundings), ports_(seed), connections_(seed + 1), sa_(surroundings) {}

Host::Id* Host::get(IdHandle handle) {
    const auto found = ids_.find(handle);
    return found == ids_.end() ? nullptr : &found->second;
}

Host::Id* Host::add(PortSpace space, QpType type) {
    if (ids_.size() >= kIdsMax) {
        return nullptr;
    }
    do {
        ++last_id_;
    } while (last_id_ == 0 || ids_.contains(last_id_));
    Id& id = ids_[last_id_];
    id.handle = last_id_;
    id.space = space;
    id.type = type;
    return &id;
}

Reply Host::execute(const Command& command, std::uint64_t now_ns) {
    Reply reply;
    if (command.operation == Operation::kCreateId) {
        create(command, reply);
        return reply;
    }
    Id* const id = get(command.id);
    if (id == nullptr) {
        reply.status = EINVAL;
        return reply;
    }
    switch (command.operation) {
        case Operation::kDestroyId:
            destroy(*id, now_ns);
            return reply;
        case Operation::kBind:
            reply.status = bind(*id, plain(command.source));
            break;
        case Operation::kResolveAddr:
            reply.status = resolve_addr(*id, command);
            break;
        case Operation::kResolveRoute:
            reply.status = resolve_route(*id, command, now_ns);
            break;
        case Operation::kSetRoute:
            reply.status = set_route(*id, command);
            break;
        case Operation::kQuery:
            break;
        case Operation::kListen:
            reply.status = listen(*id, command.value, now_ns);
            break;
        case Operation::kConnect:
            reply.status = connect(*id, command.parameters, now_ns);
            break;
        case Operation::kAccept:
            reply.status = accept(*id, command.parameters, now_ns);
            break;
        case Operation::kReject:
            reply.status = reject(*id, command, now_ns);
            break;
        case Operation::kDisconnect:
            reply.status = disconnect(*id, now_ns);
            break;
        case Operation::kNotify:
            reply.status = notify(*id);
            break;
        case Operation::kQpAttr:
            reply.status =
                query_attributes(*id, static_cast<QpState>(command.value), reply.attributes);
            break;
        case Operation::kSetOption:
            reply.status = set_option(*id, command);
            break;
        case Operation::kJoin:
            reply.status = join(*id, command, reply, now_ns);
            break;
        case Operation::kLeave:
            reply.status = leave(command.value, *id, now_ns);
            break;
        default:
            reply.status = ENOSYS;
            break;
    }
    pump(now_ns);
    reply.info = info_of(*id);
    return reply;
}

void Host::create(const Command& command, Reply& reply) {
    switch (command.port_space) {
        case PortSpace::kIpoib:
        case PortSpace::kTcp:
        case PortSpace::kUdp:
        case PortSpace::kIb:
            break;
        default:
            reply.status = EPROTONOSUPPORT;
            return;
    }
    const Id* const id = add(command.port_space, command.qp_type);
    reply.status = id == nullptr ? ENOBUFS : 0;
    reply.id = id == nullptr ? 0 : id->handle;
}

void Host::destroy(Id& id, std::uint64_t now_ns) {
    if (id.state == State::kListening) {
        // The endpoints that were made for its requests live on by themselves.
        for (auto& [handle, other] : ids_) {
            if (other.listener == id.handle) {
                other.listener = 0;
            }
        }
    }
    answered(id);
    for (auto it = joins_.begin(); it != joins_.end();) {
        const auto join = it++;
        if (join->second.id == id.handle) {
            leave(join, now_ns);
        }
    }
    if (id.connection != 0) {
        by_connection_.erase(id.connection);
        connections_.forget(id.connection, now_ns);
    }
    if (id.lookup != 0) {
        by_lookup_.erase(id.lookup);
        sidr_.forget(id.lookup, now_ns);
    }
    if (id.query != 0) {
        by_query_.erase(id.query);
        sa_.forget(id.query);
    }
    if (id.has_number) {
        ports_.release(id.bound_space, port_of(id.source), id.handle);
    }
    const IdHandle handle = id.handle;
    std::erase_if(events_, [handle](const Event& event) { return event.id == handle; });
    ids_.erase(handle);
}

std::optional<std::uint32_t> Host::own_port(const Gid& gid) const {
    for (std::uint32_t i = 0; i < surroundings_.port_count(); ++i) {
        if (surroundings_.port(i).gid == gid) {
            return i;
        }
    }
    return std::nullopt;
}

std::optional<std::uint32_t> Host::default_port() const {
    for (std::uint32_t i = 0; i < surroundings_.port_count(); ++i) {
        if (surroundings_.port(i).active) {
            return i;
        }
    }
    return surroundings_.port_count() > 0 ? std::optional<std::uint32_t>(0) : std::nullopt;
}

void Host::use_port(Id& id, std::uint32_t port) {
    id.has_port = true;
    id.route.port = port;
    id.route.path.sgid = surroundings_.port(port).gid;
    id.route.path.slid = surroundings_.port(port).lid;
    id.route.path.pkey = id.source.family == Family::kIb && id.source.pkey.value != 0
                             ? id.source.pkey
                             : default_pkey(port);
}

int Host::bind(Id& id, const Address& address) {
    if (id.state != State::kIdle) {
        return EINVAL;
    }
    if (address.family != Family::kIp4 && address.family != Family::kIp6 &&
        address.family != Family::kIb) {
        return EAFNOSUPPORT;
    }
    std::optional<std::uint32_t> port;
    Address name = address;
    if (!is_any(address)) {
        const std::optional<Gid> gid =
            is_ip(address) ? surroundings_.find_port(address) : address.bytes;
        port = gid ? own_port(*gid) : std::nullopt;
        if (!port && is_ip(address) && surroundings_.is_own(address)) {
            port = default_port();
            // The program may tell its address to other hosts, so the address must work there too.
            if (port && is_loopback(address)) {
                name = own_address(address.family, *port);
            }
        }
        if (!port) {
            return EADDRNOTAVAIL;
        }
    }
    // The service ID of a sockaddr_ib names the port space.
    id.bound_space = id.space;
    if (address.family == Family::kIb && address.service_id >> 16 != 0) {
        id.bound_space = static_cast<PortSpace>(address.service_id >> 16);
    }
    std::uint16_t number = 0;
    const PortTable::Holder holder{.id = id.handle,
                                   .address = address,
                                   .reuse = id.reuse_addr,
                                   .af_only = id.af_only || address.family == Family::kIp4};
    if (const int error = ports_.bind(id.bound_space, holder, number); error != 0) {
        return error;
    }
    id.has_number = true;
    id.source = with_port(name, number);
    if (address.family == Family::kIb && address.service_id >> 16 == 0) {
        id.source.service_id = service_id(id.space, number);
    }
    id.state = State::kBound;
    if (port) {
        use_port(id, *port);
    }
    return 0;
}

int Host::set_option(Id& id, const Command& command) {
    switch (static_cast<IdOption>(command.option)) {
        case IdOption::kTos:
            return 0;  // The SA chooses the service level.
        case IdOption::kReuseAddr:
            if (id.state != State::kIdle) {
                return EINVAL;
            }
            id.reuse_addr = command.value != 0;
            return 0;
        case IdOption::kAfOnly:
            if (id.state != State::kIdle) {
                return EINVAL;
            }
            id.af_only = command.value != 0;
            return 0;
        case IdOption::kAckTimeout:
            if (command.value > 31) {
                return EINVAL;
            }
            id.ack_timeout = static_cast<std::uint8_t>(command.value);
            return 0;
    }
    return ENOSYS;
}

IdInfo Host::info_of(const Id& id) const {
    IdInfo info;
    info.source = id.source;
    info.destination = id.destination;
    info.destination_gid = id.destination_gid;
    if (id.has_port) {
        const LocalPort port = surroundings_.port(id.route.port);
        info.node_guid = port.node_guid;
        info.port_num = 1;
        info.source_gid = port.gid;
        info.pkey = id.route.path.pkey;
    }
    if (id.has_path) {
        info.has_path = 1;
        wire::emit(id.route.path, std::span(info.path));
    }
    return info;
}

void Host::report(Event event) {
    if (const Id* const id = get(event.id)) {
        event.info = info_of(*id);
    }
    events_.push_back(event);
}

void Host::report(const Id& id, EventType type, int status) {
    report({.type = type, .status = status, .id = id.handle});
}

void Host::pump(std::uint64_t now_ns) {
    while (const auto event = connections_.poll_event()) {
        take_event(*event, now_ns);
    }
    while (const auto event = sidr_.poll_event()) {
        take_event(*event, now_ns);
    }
    while (const auto answer = sa_.poll_answer()) {
        if (auto found = by_query_.extract(answer->query)) {
            take_path(ids_.at(found.mapped()), *answer);
        } else if (auto join = by_join_query_.extract(answer->query)) {
            take_member(join.mapped(), *answer);
        }
    }
}

void Host::handle_mad(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns) {
    const wire::Mad<const std::uint8_t> header(packet.mad);
    if (header.mgmt_class() == wire::MgmtClass::kCommMgmt) {
        if (header.method() != wire::Method::kSend ||
            header.class_version() != wire::kCmClassVersion) {
            return;
        }
        connections_.handle_mad(port, packet, now_ns);
        sidr_.handle_mad(port, packet, now_ns);
    } else {
        sa_.handle_mad(packet);
    }
    pump(now_ns);
}

void Host::handle_timeout(std::uint64_t now_ns) {
    connections_.handle_timeout(now_ns);
    sidr_.handle_timeout(now_ns);
    sa_.handle_timeout(now_ns);
    try_early(now_ns);
    pump(now_ns);
}

std::uint64_t Host::next_timeout_ns() const {
    return std::min({connections_.next_timeout_ns(), sidr_.next_timeout_ns(), sa_.next_timeout_ns(),
                     early_.empty() ? UINT64_MAX : early_.front().until_ns});
}

std::optional<Outgoing> Host::poll_transmit() {
    if (auto out = connections_.poll_transmit()) {
        return out;
    }
    if (auto out = sidr_.poll_transmit()) {
        return out;
    }
    return sa_.poll_transmit();
}

std::vector<Host::Listener> Host::listeners() const {
    std::vector<Listener> out;
    for (const auto& [handle, id] : ids_) {
        if (id.state == State::kListening) {
            out.push_back({id.bound_space, id.source});
        }
    }
    return out;
}

Host::Endpoint::State Host::state_of(const Id& id) {
    switch (id.state) {
        case State::kIdle:
            return Endpoint::kIdle;
        case State::kBound:
            return Endpoint::kAddrBound;
        case State::kAddrResolved:
            return Endpoint::kAddrResolved;
        case State::kResolvingRoute:
            return Endpoint::kRouteQuery;
        case State::kRouteResolved:
            return Endpoint::kRouteResolved;
        case State::kConnecting:
        case State::kConnected:
        case State::kRequested:
            return Endpoint::kConnect;
        case State::kOver:
            return Endpoint::kDisconnect;
        case State::kListening:
            return Endpoint::kListen;
    }
    return Endpoint::kIdle;
}

std::vector<Host::Endpoint> Host::endpoints() const {
    std::vector<Endpoint> out;
    for (const auto& [handle, id] : ids_) {
        Endpoint& each = out.emplace_back(Endpoint{.handle = handle,
                                                   .state = state_of(id),
                                                   .space = id.space,
                                                   .type = id.type,
                                                   .source = id.source,
                                                   .destination = id.destination});
        if (id.has_port) {
            each.port = id.route.port;
        }
        if (const Connection* const connection = connections_.find(id.connection)) {
            each.qpn = connection->local_qpn;
        }
    }
    return out;
}

std::optional<Event> Host::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    const Event event = events_.front();
    events_.pop_front();
    return event;
}

}  // namespace softib::cm
