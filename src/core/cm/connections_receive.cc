// SPDX-License-Identifier: BSD-2-Clause
// The messages that arrive for connections. Any host can send any message, so a message counts only
// if the state of the connection that it names allows it.
#include <algorithm>
#include <utility>

#include "core/cm/connections.h"
#include "core/wire/cm/cm_apr.h"
#include "core/wire/cm/cm_drep.h"
#include "core/wire/cm/cm_dreq.h"
#include "core/wire/cm/cm_lap.h"
#include "core/wire/cm/cm_rtu.h"

namespace softib::cm {

namespace {

/// Returns the path from the receiver of a REQ back to its sender.
Route reverse(std::uint32_t port, const wire::CmReq& req) {
    const wire::CmPath& from = req.primary_path;
    Route route;
    route.port = port;
    route.path.dgid = from.local_port_gid;
    route.path.sgid = from.remote_port_gid;
    route.path.dlid = from.local_port_lid;
    route.path.slid = from.remote_port_lid;
    route.path.flow_label = from.flow_label;
    route.path.hop_limit = from.subnet_local ? std::uint8_t{0} : from.hop_limit;
    route.path.tclass = from.traffic_class;
    route.path.reversible = true;
    route.path.numb_path = 1;
    route.path.pkey = req.partition_key;
    route.path.sl = from.sl;
    route.path.mtu = req.path_packet_payload_mtu;
    route.path.rate = from.packet_rate;
    route.path.packet_life_time = from.local_ack_timeout > 0
                                      ? static_cast<std::uint8_t>(from.local_ack_timeout - 1)
                                      : std::uint8_t{0};
    return route;
}

Ece ece_of(const mad::Packet& packet, std::uint32_t vendor_id) {
    return {vendor_id, wire::Mad<const std::uint8_t>(packet.mad).attribute_modifier()};
}

template <std::size_t N>
void copy_private(ConnectionParameters& to, const std::array<std::uint8_t, N>& from) {
    static_assert(N <= kPrivateDataMax);
    to.private_data_bytes = N;
    std::ranges::copy(from, to.private_data.begin());
}

}  // namespace

void Connections::handle_mad(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns) {
    const wire::Mad<const std::uint8_t> header(packet.mad);
    switch (static_cast<wire::CmAttribute>(header.attribute_id())) {
        case wire::CmAttribute::kReq:
            handle_req(port, packet, now_ns);
            break;
        case wire::CmAttribute::kRep:
            handle_rep(port, packet);
            break;
        case wire::CmAttribute::kRtu:
            handle_rtu(packet);
            break;
        case wire::CmAttribute::kRej:
            handle_rej(packet, now_ns);
            break;
        case wire::CmAttribute::kMra:
            handle_mra(packet, now_ns);
            break;
        case wire::CmAttribute::kDreq:
            handle_dreq(port, packet, now_ns);
            break;
        case wire::CmAttribute::kDrep:
            handle_drep(packet, now_ns);
            break;
        case wire::CmAttribute::kLap:
            handle_lap(port, packet);
            break;
        default:
            break;
    }
}

Connection* Connections::match(CommunicationId ours, CommunicationId theirs) {
    Connection* const connection = get(ours);
    return connection != nullptr && connection->remote == theirs ? connection : nullptr;
}

void Connections::refuse(std::uint32_t port, const mad::Packet& packet, CommunicationId theirs,
                         wire::RejectedMessage what, wire::RejectReason reason) {
    wire::CmRej rej;
    rej.remote_communication_id = theirs;
    rej.message_rejected = what;
    rej.reason = reason;
    const std::uint64_t transaction = wire::Mad<const std::uint8_t>(packet.mad).transaction_id();
    out_.push_back({port, answer_to(packet, cm_mad(wire::CmAttribute::kRej, transaction, rej))});
}

void Connections::handle_req(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns) {
    const auto req = wire::parse<wire::CmReq>(wire::cm_data(packet.mad));
    const Peer request{req.local_ca_guid, req.local_communication_id};
    if (const auto found = by_request_.find(request); found != by_request_.end()) {
        // The REQ came again: our MRA or REP was lost, or is under way.
        const Connection& known = connections_.at(found->second);
        const bool answered =
            known.last != wire::MadBytes{} && (known.state == ConnectionState::kReqReceived ||
                                               known.state == ConnectionState::kRepSent);
        if (answered) {
            send(known, known.last);
        }
        return;
    }
    const bool is_xrc = req.transport_service_type == wire::TransportServiceType::kExtended &&
                        req.extended_transport_type == wire::kExtendedTransportXrc;
    if (req.transport_service_type != wire::TransportServiceType::kRc &&
        req.transport_service_type != wire::TransportServiceType::kUc && !is_xrc) {
        refuse(port, packet, req.local_communication_id, wire::RejectedMessage::kReq,
               wire::RejectReason::kInvalidTransportServiceType);
        return;
    }
    // The peer's queue pair cannot have two connections, so the one we know is stale (IBA vol. 1,
    // 12.9.8.3.1).
    if (const auto found = by_qpn_.find({req.local_ca_guid, req.local_qpn.value});
        found != by_qpn_.end()) {
        refuse(port, packet, req.local_communication_id, wire::RejectedMessage::kReq,
               wire::RejectReason::kStaleConnection);
        send_dreq(connections_.at(found->second), now_ns);
        return;
    }
    Connection* const connection = add();
    if (connection == nullptr) {
        refuse(port, packet, req.local_communication_id, wire::RejectedMessage::kReq,
               wire::RejectReason::kNoResourcesAvailable);
        return;
    }
    connection->state = ConnectionState::kReqReceived;
    connection->remote = req.local_communication_id;
    connection->type = is_xrc ? QpType::kXrcRecv
                       : req.transport_service_type == wire::TransportServiceType::kUc
                           ? QpType::kUc
                           : QpType::kRc;
    connection->route = reverse(port, req);
    connection->transaction = wire::Mad<const std::uint8_t>(packet.mad).transaction_id();
    connection->service_id = req.service_id;
    connection->remote_ca = req.local_ca_guid;
    connection->remote_qpn = req.local_qpn;
    connection->remote_psn = req.starting_psn;
    // The peer's responder resources limit our initiator depth, and the other way round.
    connection->initiator_depth = req.responder_resources;
    connection->responder_resources = req.initiator_depth;
    connection->retry_count = req.retry_count;
    connection->rnr_retry_count = req.rnr_retry_count;
    connection->ack_timeout = req.primary_path.local_ack_timeout;
    by_request_[request] = connection->local;

    ConnectionEvent event{.kind = ConnectionEvent::kRequest, .port = port, .request = req};
    event.parameters.ece = ece_of(packet, req.vendor_id);
    event.parameters.qpn = req.local_qpn;
    event.parameters.qkey = req.local_qkey;
    event.parameters.srq = req.srq ? 1 : 0;
    event.parameters.responder_resources = req.initiator_depth;
    event.parameters.initiator_depth = req.responder_resources;
    event.parameters.flow_control = req.end_to_end_flow_control ? 1 : 0;
    event.parameters.retry_count = req.retry_count;
    event.parameters.rnr_retry_count = req.rnr_retry_count;
    copy_private(event.parameters, req.private_data);
    report(*connection, std::move(event));
}

void Connections::handle_rep(std::uint32_t port, const mad::Packet& packet) {
    const auto rep = wire::parse<wire::CmRep>(wire::cm_data(packet.mad));
    Connection* const connection = get(rep.remote_communication_id);
    if (connection == nullptr || !connection->active) {
        refuse(port, packet, rep.local_communication_id, wire::RejectedMessage::kRep,
               wire::RejectReason::kInvalidCommunicationId);
        return;
    }
    if (connection->state != ConnectionState::kReqSent) {
        // The REP came again: our MRA or RTU was lost.
        const bool answered =
            connection->state == ConnectionState::kRepReceived ||
            (connection->state == ConnectionState::kEstablished && connection->confirmed);
        if (answered && connection->remote == rep.local_communication_id) {
            send(*connection, connection->last);
        }
        return;
    }
    connection->state = ConnectionState::kRepReceived;
    connection->remote = rep.local_communication_id;
    connection->remote_ca = rep.local_ca_guid;
    connection->remote_qpn =
        connection->type == QpType::kXrcSend ? Qpn{rep.local_ee_context_number} : rep.local_qpn;
    connection->remote_psn = rep.starting_psn;
    connection->initiator_depth = rep.responder_resources;
    connection->responder_resources = rep.initiator_depth;
    connection->rnr_retry_count = rep.rnr_retry_count;
    connection->last = {};
    deadlines_.clear(connection->local);
    ConnectionEvent event{.kind = ConnectionEvent::kResponse};
    event.parameters.ece = ece_of(packet, rep.vendor_id());
    event.parameters.qpn = connection->remote_qpn;
    event.parameters.qkey = rep.local_qkey;
    event.parameters.srq = rep.srq ? 1 : 0;
    event.parameters.responder_resources = rep.initiator_depth;
    event.parameters.initiator_depth = rep.responder_resources;
    event.parameters.flow_control = rep.end_to_end_flow_control ? 1 : 0;
    event.parameters.rnr_retry_count = rep.rnr_retry_count;
    copy_private(event.parameters, rep.private_data);
    delay(connection->local);
    report(*connection, std::move(event));
}

void Connections::handle_rtu(const mad::Packet& packet) {
    const auto rtu = wire::parse<wire::CmRtu>(wire::cm_data(packet.mad));
    Connection* const connection = match(rtu.remote_communication_id, rtu.local_communication_id);
    if (connection == nullptr || connection->state != ConnectionState::kRepSent) {
        return;
    }
    establish(*connection);
    ConnectionEvent event{.kind = ConnectionEvent::kEstablished};
    copy_private(event.parameters, rtu.private_data);
    report(*connection, std::move(event));
}

void Connections::handle_rej(const mad::Packet& packet, std::uint64_t now_ns) {
    const auto rej = wire::parse<wire::CmRej>(wire::cm_data(packet.mad));
    Connection* connection = get(rej.remote_communication_id);
    if (connection == nullptr && rej.reason == wire::RejectReason::kTimeout) {
        // The sender of the REQ has given up, and never knew our communication ID.
        const Peer request{Guid{wire::load_be<std::uint64_t>(rej.ari.data())},
                           rej.local_communication_id};
        const auto found = by_request_.find(request);
        connection = found == by_request_.end() ? nullptr : get(found->second);
    } else if (connection != nullptr && connection->remote != 0 &&
               rej.local_communication_id != 0 &&
               connection->remote != rej.local_communication_id) {
        connection = nullptr;
    }
    if (connection == nullptr) {
        return;
    }
    if (connection->state == ConnectionState::kEstablished ||
        connection->state == ConnectionState::kDreqSent) {
        // The peer does not know the connection, or takes it for a stale one.
        enter_timewait(*connection, now_ns, false);
        return;
    }
    if (connection->state == ConnectionState::kTimewait) {
        return;
    }
    ConnectionEvent event{.kind = ConnectionEvent::kRejected, .reason = rej.reason};
    copy_private(event.parameters, rej.private_data);
    report(*connection, std::move(event));
    erase(*connection);
}

void Connections::handle_mra(const mad::Packet& packet, std::uint64_t now_ns) {
    const auto mra = wire::parse<wire::CmMra>(wire::cm_data(packet.mad));
    Connection* const connection = get(mra.remote_communication_id);
    if (connection == nullptr) {
        return;
    }
    const bool of_req = mra.message_mraed == wire::MraedMessage::kReq &&
                        connection->state == ConnectionState::kReqSent;
    const bool of_rep = mra.message_mraed == wire::MraedMessage::kRep &&
                        connection->state == ConnectionState::kRepSent &&
                        connection->remote == mra.local_communication_id;
    if (of_req || of_rep) {
        set_timer(*connection, time_of(mra.service_timeout) + time_of(kResponseTimeout), now_ns);
    }
}

void Connections::handle_dreq(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns) {
    const auto dreq = wire::parse<wire::CmDreq>(wire::cm_data(packet.mad));
    Connection* const connection = match(dreq.remote_communication_id, dreq.local_communication_id);
    const std::uint64_t transaction = wire::Mad<const std::uint8_t>(packet.mad).transaction_id();
    if (connection == nullptr) {
        // We do not know the connection any more: the DREP lets the peer forget it too.
        wire::CmDrep drep;
        drep.local_communication_id = dreq.remote_communication_id;
        drep.remote_communication_id = dreq.local_communication_id;
        out_.push_back(
            {port, answer_to(packet, cm_mad(wire::CmAttribute::kDrep, transaction, drep))});
        return;
    }
    if (dreq.remote_qpn_eecn != connection->local_qpn ||
        connection->state == ConnectionState::kReqReceived) {
        return;
    }
    const std::uint64_t own_transaction = std::exchange(connection->transaction, transaction);
    send_drep(*connection);
    connection->transaction = own_transaction;
    if (connection->state != ConnectionState::kTimewait) {
        enter_timewait(*connection, now_ns, false);
    }
}

void Connections::handle_drep(const mad::Packet& packet, std::uint64_t now_ns) {
    const auto drep = wire::parse<wire::CmDrep>(wire::cm_data(packet.mad));
    Connection* const connection = match(drep.remote_communication_id, drep.local_communication_id);
    if (connection != nullptr && connection->state == ConnectionState::kDreqSent) {
        enter_timewait(*connection, now_ns, false);
    }
}

/// Answers a LAP with an APR that refuses it: its sender would repeat the LAP until an APR comes
/// (IBA vol. 1, 12.8.2).
void Connections::handle_lap(std::uint32_t port, const mad::Packet& packet) {
    const auto lap = wire::parse<wire::CmLap>(wire::cm_data(packet.mad));
    const Connection* const connection =
        match(lap.remote_communication_id, lap.local_communication_id);
    const bool is_up =
        connection != nullptr && (connection->state == ConnectionState::kEstablished ||
                                  connection->state == ConnectionState::kRepSent);
    wire::CmApr apr;
    apr.local_communication_id = lap.remote_communication_id;
    apr.remote_communication_id = lap.local_communication_id;
    apr.ap_status = !is_up ? wire::ApStatus::kInvalidCommunicationInstance
                    : lap.remote_qpn_eecn != connection->local_qpn
                        ? wire::ApStatus::kQpnEecnMismatch
                        : wire::ApStatus::kNotSupported;
    const std::uint64_t transaction = wire::Mad<const std::uint8_t>(packet.mad).transaction_id();
    out_.push_back({port, answer_to(packet, cm_mad(wire::CmAttribute::kApr, transaction, apr))});
}

}  // namespace softib::cm
