// SPDX-License-Identifier: BSD-2-Clause
// Connections and datagram services: turns commands of endpoints into messages of the CM, and the
// messages into events.
#include <algorithm>
#include <cerrno>

#include "core/cm/address.h"
#include "core/cm/host.h"

namespace softib::cm {

namespace {

/// Puts the IP header, if there is one, and the program's data into private data. Returns false
/// if they do not fit.
template <std::size_t N>
bool fill_private(const Address& source, const Address& destination,
                  const ConnectionParameters& parameters, std::array<std::uint8_t, N>& out) {
    std::size_t used = 0;
    if (is_ip(source)) {
        write_ip_header({source, destination}, std::span(out).template first<kIpHeaderBytes>());
        used = kIpHeaderBytes;
    }
    if (parameters.private_data_bytes > N - used) {
        return false;
    }
    std::copy_n(parameters.private_data.begin(), parameters.private_data_bytes,
                out.begin() + static_cast<std::ptrdiff_t>(used));
    return true;
}

/// Copies private data, without its first `skip` bytes, to the parameters for the program.
template <std::size_t N>
void take_private(const std::array<std::uint8_t, N>& from, std::size_t skip,
                  ConnectionParameters& to) {
    to.private_data = {};
    to.private_data_bytes = static_cast<std::uint16_t>(N - skip);
    std::copy(from.begin() + static_cast<std::ptrdiff_t>(skip), from.end(),
              to.private_data.begin());
}

}  // namespace

int Host::listen(Id& id, std::uint32_t backlog, std::uint64_t now_ns) {
    if (id.state == State::kIdle) {
        Address any;
        any.family = Family::kIp4;
        if (const int error = bind(id, any); error != 0) {
            return error;
        }
    }
    if (id.state != State::kBound) {
        return EINVAL;
    }
    if (const int error = ports_.listen(id.bound_space, port_of(id.source), id.handle)) {
        return error;
    }
    id.backlog = backlog == 0 || backlog > kBacklogMax ? kBacklogMax : backlog;
    id.state = State::kListening;
    try_early(now_ns);
    return 0;
}

/// Keeps a request until a listener comes. Returns false if too many wait already.
bool Host::wait_for_listener(const Early& early) {
    if (early_.size() >= kEarlyMax) {
        return false;
    }
    early_.push_back(early);
    return true;
}

/// Tries early requests again, after a program began to listen or time has passed.
void Host::try_early(std::uint64_t now_ns) {
    std::deque<Early> waiting;
    waiting.swap(early_);
    for (const Early& early : waiting) {
        if (const auto* const request = std::get_if<ConnectionEvent>(&early.event)) {
            take_request(*request, early.until_ns, now_ns);
        } else {
            take_lookup(std::get<SidrEvent>(early.event), early.until_ns, now_ns);
        }
    }
}

int Host::connect(Id& id, const ConnectionParameters& parameters, std::uint64_t now_ns) {
    if (id.state != State::kRouteResolved || parameters.private_data_bytes > kPrivateDataMax) {
        return EINVAL;
    }
    if (id.type == QpType::kUd) {
        return ask_service(id, parameters, now_ns);
    }
    ConnectRequest request;
    request.route = id.route;
    request.service_id = service_id(id.space, id.destination);
    request.type = id.type;
    request.local_ca = surroundings_.port(id.route.port).node_guid;
    request.ack_timeout = id.ack_timeout;
    request.parameters = parameters;
    if (!fill_private(id.source, id.destination, parameters, request.private_data)) {
        return EINVAL;
    }
    id.connection = connections_.connect(request, now_ns);
    if (id.connection == 0) {
        return ENOBUFS;
    }
    by_connection_[id.connection] = id.handle;
    id.state = State::kConnecting;
    return 0;
}

int Host::ask_service(Id& id, const ConnectionParameters& parameters, std::uint64_t now_ns) {
    std::array<std::uint8_t, 216> private_data{};
    if (!fill_private(id.source, id.destination, parameters, private_data)) {
        return EINVAL;
    }
    id.lookup = sidr_.ask(id.route, service_id(id.space, id.destination), private_data, now_ns);
    if (id.lookup == 0) {
        return ENOBUFS;
    }
    by_lookup_[id.lookup] = id.handle;
    id.state = State::kConnecting;
    return 0;
}

/// Frees the place that an endpoint's request had in the backlog of its listener.
void Host::answered(Id& id) {
    if (Id* const listener = get(id.listener); listener != nullptr && listener->waiting > 0) {
        --listener->waiting;
    }
    id.listener = 0;
}

int Host::accept(Id& id, const ConnectionParameters& parameters, std::uint64_t now_ns) {
    if (parameters.private_data_bytes > kPrivateDataMax) {
        return EINVAL;
    }
    if (id.state == State::kConnecting && id.connection != 0) {
        const int error = connections_.confirm(id.connection);
        id.state = error == 0 ? State::kConnected : id.state;
        return error;
    }
    if (id.state != State::kRequested) {
        return EINVAL;
    }
    int error = 0;
    if (id.lookup != 0) {
        wire::CmSidrRep answer;
        if (parameters.private_data_bytes > answer.private_data.size()) {
            return EINVAL;
        }
        answer.status = wire::SidrStatus::kValid;
        answer.qpn = parameters.qpn;
        answer.qkey = parameters.qkey.value != 0 ? parameters.qkey : id.qkey;
        answer.service_id = service_id(id.bound_space, id.source);
        std::copy_n(parameters.private_data.begin(), parameters.private_data_bytes,
                    answer.private_data.begin());
        error = sidr_.answer(id.lookup, answer, now_ns);
        id.state = State::kConnected;
    } else {
        if (parameters.private_data_bytes > sizeof(wire::CmRep::private_data)) {
            return EINVAL;
        }
        error = connections_.accept(id.connection, parameters,
                                    surroundings_.port(id.route.port).node_guid, now_ns);
        id.state = error == 0 ? State::kConnecting : id.state;
    }
    answered(id);
    return error;
}

int Host::reject(Id& id, const Command& command, std::uint64_t now_ns) {
    const ConnectionParameters& parameters = command.parameters;
    if (id.lookup != 0 && id.state == State::kRequested) {
        wire::CmSidrRep refusal;
        refusal.status = wire::SidrStatus::kRejected;
        refusal.service_id = service_id(id.bound_space, id.source);
        std::copy_n(
            parameters.private_data.begin(),
            std::min<std::size_t>(parameters.private_data_bytes, refusal.private_data.size()),
            refusal.private_data.begin());
        answered(id);
        id.state = State::kOver;
        return sidr_.answer(id.lookup, refusal, now_ns);
    }
    if (id.connection == 0 || parameters.private_data_bytes > sizeof(wire::CmRej::private_data)) {
        return EINVAL;
    }
    const auto reason = command.reason == 0 ? wire::RejectReason::kConsumerReject
                                            : static_cast<wire::RejectReason>(command.reason);
    const int error = connections_.reject(
        id.connection, reason,
        std::span(parameters.private_data).first(parameters.private_data_bytes));
    if (error == 0) {
        answered(id);
        by_connection_.erase(id.connection);
        id.connection = 0;
        id.state = State::kOver;
    }
    return error;
}

int Host::disconnect(Id& id, std::uint64_t now_ns) {
    if (id.connection != 0) {
        return connections_.disconnect(id.connection, now_ns);
    }
    return id.state == State::kOver ? 0 : EINVAL;
}

int Host::notify(Id& id) {
    return id.connection == 0 ? EINVAL : connections_.notify_established(id.connection);
}

/// Returns the listener that a request is for: one at its address, else one at another address of
/// the HCA port it came to, else one at the wildcard address; nullptr if there is none.
Host::Id* Host::find_listener(std::uint64_t wanted, std::uint32_t port,
                              const std::optional<IpHeader>& header) {
    const auto space = static_cast<PortSpace>(wanted >> 16 & 0xFFFF);
    if (wanted >> 32 != 0) {
        return nullptr;
    }
    Id* best = nullptr;
    int best_rank = 0;
    for (const PortTable::Holder& holder :
         ports_.holders(space, static_cast<std::uint16_t>(wanted & 0xFFFF))) {
        Id* const id = get(holder.id);
        if (id == nullptr || id->state != State::kListening) {
            continue;
        }
        const Address& at = holder.address;
        const bool any = is_any(at);
        const bool family_fits =
            at.family == Family::kIb || (header && (at.family == header->destination.family ||
                                                    (at.family == Family::kIp6 && !id->af_only)));
        const bool exactly = header && same_host(at, header->destination);
        // An address only says which port is meant, and several addresses may mean one port.
        const bool same_port = id->has_port && id->route.port == port;
        const int rank = !family_fits ? 0 : exactly ? 3 : same_port ? 2 : any ? 1 : 0;
        if (rank > best_rank) {
            best = id;
            best_rank = rank;
        }
    }
    return best;
}

/// Makes an endpoint for a request. Returns nullptr if the listener's backlog is full or the host
/// has too many endpoints.
Host::Id* Host::welcome(Id& listener, const Route& route, std::uint64_t wanted,
                        const std::optional<IpHeader>& header) {
    if (listener.waiting >= listener.backlog) {
        return nullptr;
    }
    const IdHandle listener_handle = listener.handle;
    Id* const id = add(listener.space, listener.type);
    if (id == nullptr) {
        return nullptr;
    }
    Id& parent = ids_.at(listener_handle);
    ++parent.waiting;
    id->listener = listener_handle;
    id->state = State::kRequested;
    id->bound_space = parent.bound_space;
    id->ack_timeout = parent.ack_timeout;
    id->has_port = true;
    id->has_path = true;
    id->route = route;
    id->route.path.service_id = wanted;
    id->destination_gid = route.path.dgid;
    if (parent.source.family != Family::kIb && header) {
        id->source = header->destination;
        id->destination = header->source;
    } else {
        id->source = parent.source;
        id->source.bytes = surroundings_.port(route.port).gid;
        id->source.pkey = route.path.pkey;
        id->destination.family = Family::kIb;
        id->destination.pkey = route.path.pkey;
        id->destination.bytes = route.path.dgid;
    }
    return id;
}

void Host::take_request(const ConnectionEvent& event, std::uint64_t until_ns,
                        std::uint64_t now_ns) {
    const Connection* const asked = connections_.find(event.connection);
    if (asked == nullptr || asked->state != ConnectionState::kReqReceived) {
        return;  // The peer has taken the request back meanwhile.
    }
    const auto header = read_ip_header(
        std::span(event.request.private_data).first<kIpHeaderBytes>(), event.request.service_id);
    Id* const listener = find_listener(event.request.service_id, event.port, header);
    if (listener == nullptr || listener->type == QpType::kUd) {
        if (until_ns <= now_ns || !wait_for_listener({until_ns, event})) {
            connections_.reject(event.connection, wire::RejectReason::kInvalidServiceId, {});
        }
        return;
    }
    const Connection& connection = *asked;
    const bool by_ip = is_ip(listener->source);
    const IdHandle listener_handle = listener->handle;
    Id* const id = welcome(*listener, connection.route, event.request.service_id, header);
    if (id == nullptr) {
        connections_.reject(event.connection, wire::RejectReason::kConsumerReject, {});
        return;
    }
    id->type = connection.type;
    id->connection = event.connection;
    by_connection_[event.connection] = id->handle;
    connections_.delay(event.connection);
    Event out{.type = EventType::kConnectRequest, .id = id->handle, .listener = listener_handle};
    out.parameters = event.parameters;
    take_private(event.request.private_data, by_ip ? kIpHeaderBytes : 0, out.parameters);
    report(out);
}

void Host::take_event(const ConnectionEvent& event, std::uint64_t now_ns) {
    if (event.kind == ConnectionEvent::kRequest) {
        take_request(event, now_ns + kEarlyNs, now_ns);
        return;
    }
    const auto found = by_connection_.find(event.connection);
    if (found == by_connection_.end()) {
        return;
    }
    Id& id = ids_.at(found->second);
    Event out{.id = id.handle};
    out.parameters = event.parameters;
    bool gone = false;
    switch (event.kind) {
        case ConnectionEvent::kResponse:
            out.type = EventType::kConnectResponse;
            break;
        case ConnectionEvent::kEstablished:
            out.type = EventType::kEstablished;
            id.state = State::kConnected;
            break;
        case ConnectionEvent::kRejected:
            out.type = EventType::kRejected;
            out.status = static_cast<int>(event.reason);
            gone = true;
            break;
        case ConnectionEvent::kUnreachable:
            out.type = EventType::kUnreachable;
            out.status = -ETIMEDOUT;
            gone = true;
            break;
        case ConnectionEvent::kDisconnected:
            out.type = EventType::kDisconnected;
            out.status = event.timed_out ? -ETIMEDOUT : 0;
            id.state = State::kOver;
            break;
        case ConnectionEvent::kTimewaitExit:
            out.type = EventType::kTimewaitExit;
            gone = true;
            break;
        case ConnectionEvent::kRequest:
            break;
    }
    if (gone) {
        answered(id);
        id.state = State::kOver;
        id.connection = 0;
        by_connection_.erase(found);
    }
    report(out);
}

void Host::take_lookup(const SidrEvent& event, std::uint64_t until_ns, std::uint64_t now_ns) {
    const auto header = read_ip_header(
        std::span(event.request.private_data).first<kIpHeaderBytes>(), event.request.service_id);
    Id* const listener = find_listener(event.request.service_id, event.port, header);
    Route route;
    const LocalPort port = surroundings_.port(event.port);
    route.port = event.port;
    route.path.sgid = port.gid;
    route.path.slid = port.lid;
    route.path.dlid = event.from;
    route.path.pkey = event.request.partition_key;
    const bool served = listener != nullptr && listener->type == QpType::kUd;
    if (!served && until_ns > now_ns && wait_for_listener({until_ns, event})) {
        return;
    }
    const bool by_ip = served && is_ip(listener->source);
    const IdHandle listener_handle = served ? listener->handle : 0;
    Id* const id = served ? welcome(*listener, route, event.request.service_id, header) : nullptr;
    if (id == nullptr) {
        wire::CmSidrRep refusal;
        refusal.status =
            served ? wire::SidrStatus::kRejected : wire::SidrStatus::kServiceIdNotSupported;
        refusal.service_id = event.request.service_id;
        sidr_.answer(event.lookup, refusal, now_ns);
        return;
    }
    id->has_path = false;
    id->lookup = event.lookup;
    by_lookup_[event.lookup] = id->handle;
    Event out{.type = EventType::kConnectRequest, .id = id->handle, .listener = listener_handle};
    take_private(event.request.private_data, by_ip ? kIpHeaderBytes : 0, out.parameters);
    out.destination = destination_of(route, port);
    report(out);
}

void Host::take_event(const SidrEvent& event, std::uint64_t now_ns) {
    if (event.kind == SidrEvent::kRequest) {
        take_lookup(event, now_ns + kEarlyNs, now_ns);
        return;
    }
    const auto found = by_lookup_.find(event.lookup);
    if (found == by_lookup_.end()) {
        return;
    }
    Id& id = ids_.at(found->second);
    by_lookup_.erase(found);
    id.lookup = 0;
    Event out{.type = EventType::kUnreachable, .id = id.handle};
    if (event.kind == SidrEvent::kTimeout) {
        out.status = -ETIMEDOUT;
        answered(id);
        id.state = State::kOver;
    } else if (event.answer.status != wire::SidrStatus::kValid) {
        out.status = static_cast<int>(event.answer.status);
        take_private(event.answer.private_data, 0, out.parameters);
        id.state = State::kOver;
    } else {
        out.type = EventType::kEstablished;
        out.parameters.qpn = event.answer.qpn;
        out.parameters.qkey = event.answer.qkey;
        take_private(event.answer.private_data, 0, out.parameters);
        out.destination = destination_of(id.route, surroundings_.port(id.route.port));
        id.qkey = event.answer.qkey;
        id.state = State::kConnected;
    }
    report(out);
}

}  // namespace softib::cm
