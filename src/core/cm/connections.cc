// SPDX-License-Identifier: BSD-2-Clause
// The commands and timers of connections. Messages that arrive are handled in
// connections_receive.cc.
#include "core/cm/connections.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/wire/cm/cm_drep.h"
#include "core/wire/cm/cm_dreq.h"
#include "core/wire/cm/cm_rtu.h"

namespace softib::cm {

namespace {

constexpr std::uint32_t kPsnMask = 0xFFFFFF;
constexpr std::uint8_t kHopLimitLocal = 1;
constexpr int kCaAckDelay = 16;  // local_ca_ack_delay of our HCAs (ibv_query_device).

/// Returns the local ACK timeout of a queue pair, as an exponent of two: the way there and back,
/// plus the time that the HCA takes to acknowledge (IBA vol. 1, 12.7.34). The sum of the two powers
/// is the larger one, or its double if the smaller one is at least half of it.
std::uint8_t ack_timeout_of(const wire::PathRecord& path) {
    const int way = path.packet_life_time + 1;
    const int larger = std::max(way, kCaAckDelay);
    const bool are_near = larger - std::min(way, kCaAckDelay) <= 1;
    return static_cast<std::uint8_t>(std::min(larger + (are_near ? 1 : 0), 31));
}

wire::CmPath path_of(const Route& route, std::uint8_t ack_timeout) {
    const wire::PathRecord& from = route.path;
    wire::CmPath path;
    path.local_port_lid = from.slid;
    path.remote_port_lid = from.dlid;
    path.local_port_gid = from.sgid;
    path.remote_port_gid = from.dgid;
    path.flow_label = from.flow_label;
    path.packet_rate = from.rate;
    path.traffic_class = from.tclass;
    path.hop_limit = from.hop_limit;
    path.sl = from.sl;
    path.subnet_local = from.hop_limit <= kHopLimitLocal;
    path.local_ack_timeout = ack_timeout;
    return path;
}

wire::CmReq make_req(const Connection& connection, const ConnectRequest& request) {
    wire::CmReq req;
    req.local_communication_id = connection.local;
    req.vendor_id = request.parameters.ece.vendor_id;
    req.service_id = request.service_id;
    req.local_ca_guid = request.local_ca;
    req.local_qkey = request.parameters.qkey;
    req.local_qpn = connection.local_qpn;
    req.responder_resources = connection.responder_resources;
    req.initiator_depth = connection.initiator_depth;
    req.remote_cm_response_timeout = kResponseTimeout;
    req.local_cm_response_timeout = kResponseTimeout;
    switch (request.type) {
        case QpType::kUc:
            req.transport_service_type = wire::TransportServiceType::kUc;
            break;
        case QpType::kXrcSend:
        case QpType::kXrcRecv:
            req.transport_service_type = wire::TransportServiceType::kExtended;
            req.extended_transport_type = wire::kExtendedTransportXrc;
            break;
        default:
            req.transport_service_type = wire::TransportServiceType::kRc;
            break;
    }
    req.end_to_end_flow_control = request.parameters.flow_control != 0;
    req.starting_psn = connection.local_psn;
    req.retry_count = request.parameters.retry_count;
    req.partition_key = request.route.path.pkey;
    req.path_packet_payload_mtu = request.route.path.mtu;
    req.rnr_retry_count = request.parameters.rnr_retry_count;
    req.max_cm_retries = kMaxCmRetries;
    req.srq = request.parameters.srq != 0;
    req.primary_path = path_of(request.route, connection.ack_timeout);
    req.private_data = request.private_data;
    return req;
}

}  // namespace

Connections::Connections(std::uint64_t seed) : prng_(seed) {
    last_ = static_cast<CommunicationId>(prng_.next());
    last_transaction_ = prng_.next() >> 32;
}

const Connection* Connections::find(CommunicationId id) const {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : &found->second;
}

Connection* Connections::get(CommunicationId id) {
    const auto found = connections_.find(id);
    return found == connections_.end() ? nullptr : &found->second;
}

Connection* Connections::add() {
    if (connections_.size() >= kConnectionsMax) {
        return nullptr;
    }
    do {
        ++last_;
    } while (last_ == 0 || connections_.contains(last_));
    Connection& connection = connections_[last_];
    connection.local = last_;
    connection.local_psn = Psn{static_cast<std::uint32_t>(prng_.next()) & kPsnMask};
    return &connection;
}

void Connections::erase(Connection& connection) {
    const Peer request{connection.remote_ca, connection.remote};
    if (const auto found = by_request_.find(request);
        found != by_request_.end() && found->second == connection.local) {
        by_request_.erase(found);
    }
    const Peer qpn{connection.remote_ca, connection.remote_qpn.value};
    if (const auto found = by_qpn_.find(qpn);
        found != by_qpn_.end() && found->second == connection.local) {
        by_qpn_.erase(found);
    }
    deadlines_.clear(connection.local);
    connections_.erase(connection.local);
}

void Connections::set_timer(Connection& connection, std::uint64_t wait_ns, std::uint64_t now_ns) {
    deadlines_.set(connection.local, now_ns + wait_ns);
}

void Connections::send(const Connection& connection, const wire::MadBytes& mad) {
    const wire::PathRecord& path = connection.route.path;
    out_.push_back({connection.route.port, to_services(mad, path.dlid, path.pkey, path.sl)});
}

void Connections::send_until_answered(Connection& connection, const wire::MadBytes& mad,
                                      std::uint64_t now_ns) {
    connection.last = mad;
    connection.retries_left = kMaxCmRetries;
    set_timer(connection, time_of(kResponseTimeout), now_ns);
    send(connection, mad);
}

void Connections::report(const Connection& connection, ConnectionEvent event) {
    event.connection = connection.local;
    if (connection.wanted) {
        events_.push_back(std::move(event));
    }
}

CommunicationId Connections::connect(const ConnectRequest& request, std::uint64_t now_ns) {
    Connection* const connection = add();
    if (connection == nullptr) {
        return 0;
    }
    connection->state = ConnectionState::kReqSent;
    connection->active = true;
    connection->type = request.type;
    connection->route = request.route;
    connection->transaction = ++last_transaction_;
    connection->service_id = request.service_id;
    connection->local_ca = request.local_ca;
    connection->local_qpn = request.parameters.qpn;
    connection->responder_resources = request.parameters.responder_resources;
    connection->initiator_depth = request.parameters.initiator_depth;
    connection->retry_count = request.parameters.retry_count;
    connection->rnr_retry_count = request.parameters.rnr_retry_count;
    connection->ack_timeout =
        request.ack_timeout != 0 ? request.ack_timeout : ack_timeout_of(request.route.path);
    send_until_answered(*connection,
                        cm_mad(wire::CmAttribute::kReq, connection->transaction,
                               make_req(*connection, request), request.parameters.ece.options),
                        now_ns);
    return connection->local;
}

int Connections::accept(CommunicationId id, const ConnectionParameters& parameters, Guid local_ca,
                        std::uint64_t now_ns) {
    Connection* const connection = get(id);
    if (connection == nullptr || connection->state != ConnectionState::kReqReceived) {
        return EINVAL;
    }
    connection->local_ca = local_ca;
    connection->local_qpn = parameters.qpn;
    connection->responder_resources = parameters.responder_resources;
    connection->initiator_depth = parameters.initiator_depth;
    wire::CmRep rep;
    rep.local_communication_id = connection->local;
    rep.remote_communication_id = connection->remote;
    rep.local_qkey = parameters.qkey;
    if (connection->type == QpType::kXrcRecv) {
        rep.local_ee_context_number = parameters.qpn.value;
    } else {
        rep.local_qpn = parameters.qpn;
    }
    rep.set_vendor_id(parameters.ece.vendor_id);
    rep.starting_psn = connection->local_psn;
    rep.responder_resources = parameters.responder_resources;
    rep.initiator_depth = parameters.initiator_depth;
    rep.failover_accepted = wire::FailoverAccepted::kNotSupported;
    rep.end_to_end_flow_control = parameters.flow_control != 0;
    rep.rnr_retry_count = parameters.rnr_retry_count;
    rep.srq = parameters.srq != 0 || connection->type == QpType::kXrcRecv;
    rep.local_ca_guid = local_ca;
    std::copy_n(parameters.private_data.begin(),
                std::min<std::size_t>(parameters.private_data_bytes, rep.private_data.size()),
                rep.private_data.begin());
    connection->state = ConnectionState::kRepSent;
    send_until_answered(
        *connection,
        cm_mad(wire::CmAttribute::kRep, connection->transaction, rep, parameters.ece.options),
        now_ns);
    return 0;
}

int Connections::confirm(CommunicationId id) {
    Connection* const connection = get(id);
    if (connection == nullptr || connection->state != ConnectionState::kRepReceived) {
        return EINVAL;
    }
    wire::CmRtu rtu;
    rtu.local_communication_id = connection->local;
    rtu.remote_communication_id = connection->remote;
    connection->last = cm_mad(wire::CmAttribute::kRtu, connection->transaction, rtu);
    connection->confirmed = true;
    send(*connection, connection->last);
    establish(*connection);
    return 0;
}

void Connections::establish(Connection& connection) {
    connection.state = ConnectionState::kEstablished;
    deadlines_.clear(connection.local);
    by_qpn_[{connection.remote_ca, connection.remote_qpn.value}] = connection.local;
}

int Connections::notify_established(CommunicationId id) {
    Connection* const connection = get(id);
    if (connection == nullptr || connection->state != ConnectionState::kRepSent) {
        return EINVAL;
    }
    establish(*connection);
    report(*connection, {.kind = ConnectionEvent::kEstablished});
    return 0;
}

void Connections::delay(CommunicationId id) {
    Connection* const connection = get(id);
    if (connection == nullptr || (connection->state != ConnectionState::kReqReceived &&
                                  connection->state != ConnectionState::kRepReceived)) {
        return;
    }
    wire::CmMra mra;
    mra.local_communication_id = connection->local;
    mra.remote_communication_id = connection->remote;
    mra.message_mraed = connection->state == ConnectionState::kReqReceived
                            ? wire::MraedMessage::kReq
                            : wire::MraedMessage::kRep;
    mra.service_timeout = kServiceTimeout;
    connection->last = cm_mad(wire::CmAttribute::kMra, connection->transaction, mra);
    send(*connection, connection->last);
}

void Connections::send_rej(const Connection& connection, wire::RejectReason reason,
                           std::span<const std::uint8_t> private_data) {
    wire::CmRej rej;
    rej.local_communication_id = connection.local;
    rej.remote_communication_id = connection.remote;
    rej.message_rejected =
        connection.state == ConnectionState::kReqReceived   ? wire::RejectedMessage::kReq
        : connection.state == ConnectionState::kRepReceived ? wire::RejectedMessage::kRep
                                                            : wire::RejectedMessage::kOther;
    rej.reason = reason;
    if (reason == wire::RejectReason::kTimeout) {
        // The peer's communication ID is not known, so our CA GUID and ours name the connection
        // (IBA vol. 1, 12.6.7.2).
        rej.reject_info_length = sizeof connection.local_ca.value;
        wire::store_be(rej.ari.data(), connection.local_ca.value);
    }
    std::copy_n(private_data.begin(), std::min(private_data.size(), rej.private_data.size()),
                rej.private_data.begin());
    send(connection, cm_mad(wire::CmAttribute::kRej, connection.transaction, rej));
}

int Connections::reject(CommunicationId id, wire::RejectReason reason,
                        std::span<const std::uint8_t> private_data) {
    Connection* const connection = get(id);
    if (connection == nullptr || (connection->state != ConnectionState::kReqReceived &&
                                  connection->state != ConnectionState::kRepSent &&
                                  connection->state != ConnectionState::kRepReceived)) {
        return EINVAL;
    }
    send_rej(*connection, reason, private_data);
    erase(*connection);
    return 0;
}

void Connections::send_dreq(Connection& connection, std::uint64_t now_ns) {
    wire::CmDreq dreq;
    dreq.local_communication_id = connection.local;
    dreq.remote_communication_id = connection.remote;
    dreq.remote_qpn_eecn = connection.remote_qpn;
    connection.state = ConnectionState::kDreqSent;
    connection.transaction = ++last_transaction_;
    send_until_answered(connection, cm_mad(wire::CmAttribute::kDreq, connection.transaction, dreq),
                        now_ns);
}

void Connections::send_drep(const Connection& connection) {
    wire::CmDrep drep;
    drep.local_communication_id = connection.local;
    drep.remote_communication_id = connection.remote;
    send(connection, cm_mad(wire::CmAttribute::kDrep, connection.transaction, drep));
}

int Connections::disconnect(CommunicationId id, std::uint64_t now_ns) {
    Connection* const connection = get(id);
    if (connection == nullptr) {
        return EINVAL;
    }
    if (connection->state == ConnectionState::kEstablished ||
        connection->state == ConnectionState::kRepSent) {
        send_dreq(*connection, now_ns);
        return 0;
    }
    // The connection ends already: the program asked before, or the peer did.
    return connection->state == ConnectionState::kDreqSent ||
                   connection->state == ConnectionState::kTimewait
               ? 0
               : EINVAL;
}

void Connections::forget(CommunicationId id, std::uint64_t now_ns) {
    Connection* const connection = get(id);
    if (connection == nullptr) {
        return;
    }
    connection->wanted = false;
    std::erase_if(events_, [&](const ConnectionEvent& event) { return event.connection == id; });
    switch (connection->state) {
        case ConnectionState::kReqSent:
            send_rej(*connection, wire::RejectReason::kTimeout, {});
            erase(*connection);
            break;
        case ConnectionState::kReqReceived:
        case ConnectionState::kRepSent:
        case ConnectionState::kRepReceived:
            send_rej(*connection, wire::RejectReason::kConsumerReject, {});
            erase(*connection);
            break;
        case ConnectionState::kEstablished:
            send_dreq(*connection, now_ns);
            break;
        case ConnectionState::kDreqSent:
        case ConnectionState::kTimewait:
            break;
    }
}

void Connections::enter_timewait(Connection& connection, std::uint64_t now_ns, bool timed_out) {
    const bool was_up = connection.state != ConnectionState::kTimewait;
    connection.state = ConnectionState::kTimewait;
    if (const auto found = by_qpn_.find({connection.remote_ca, connection.remote_qpn.value});
        found != by_qpn_.end() && found->second == connection.local) {
        by_qpn_.erase(found);
    }
    set_timer(connection, time_of(connection.ack_timeout), now_ns);
    if (was_up) {
        report(connection, {.kind = ConnectionEvent::kDisconnected, .timed_out = timed_out});
    }
}

void Connections::handle_timeout(std::uint64_t now_ns) {
    while (const auto id = deadlines_.take(now_ns)) {
        Connection& connection = connections_.at(*id);
        if (connection.state == ConnectionState::kTimewait) {
            report(connection, {.kind = ConnectionEvent::kTimewaitExit});
            erase(connection);
            continue;
        }
        if (connection.retries_left > 0) {
            --connection.retries_left;
            set_timer(connection, time_of(kResponseTimeout), now_ns);
            send(connection, connection.last);
            continue;
        }
        if (connection.state == ConnectionState::kDreqSent) {
            enter_timewait(connection, now_ns, true);
            continue;
        }
        // Tells the peer that its answer would come too late (IBA vol. 1, 12.9.8.3).
        send_rej(connection, wire::RejectReason::kTimeout, {});
        report(connection, {.kind = ConnectionEvent::kUnreachable});
        erase(connection);
    }
}

std::optional<Outgoing> Connections::poll_transmit() {
    if (out_.empty()) {
        return std::nullopt;
    }
    Outgoing out = std::move(out_.front());
    out_.pop_front();
    return out;
}

std::optional<ConnectionEvent> Connections::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    ConnectionEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
}

}  // namespace softib::cm
