// SPDX-License-Identifier: BSD-2-Clause
#include "core/cm/sidr.h"

#include <cerrno>

#include "core/cm/connections.h"

namespace softib::cm {

SidrId Sidr::add() {
    if (lookups_.size() >= kSidrRequestsMax) {
        return 0;
    }
    do {
        ++last_;
    } while (last_ == 0 || lookups_.contains(last_));
    return last_;
}

void Sidr::erase(SidrId id) {
    const auto found = lookups_.find(id);
    if (!found->second.ours) {
        by_request_.erase(found->second.asked_by);
    }
    deadlines_.clear(id);
    lookups_.erase(found);
}

SidrId Sidr::ask(const Route& route, std::uint64_t service_id,
                 const std::array<std::uint8_t, 216>& private_data, std::uint64_t now_ns) {
    const SidrId id = add();
    if (id == 0) {
        return 0;
    }
    wire::CmSidrReq request;
    request.request_id = id;
    request.partition_key = route.path.pkey;
    request.service_id = service_id;
    request.private_data = private_data;
    Lookup& lookup = lookups_[id];
    lookup.ours = true;
    lookup.retries_left = kMaxCmRetries;
    lookup.port = route.port;
    lookup.packet = to_services(cm_mad(wire::CmAttribute::kSidrReq, id, request), route.path.dlid,
                                route.path.pkey, route.path.sl);
    deadlines_.set(id, now_ns + time_of(kResponseTimeout));
    out_.push_back({lookup.port, lookup.packet});
    return id;
}

int Sidr::answer(SidrId id, wire::CmSidrRep answer, std::uint64_t now_ns) {
    const auto found = lookups_.find(id);
    if (found == lookups_.end() || found->second.ours || found->second.answered) {
        return EINVAL;
    }
    Lookup& lookup = found->second;
    answer.request_id = lookup.asked_by.second;
    const std::uint64_t transaction =
        wire::Mad<const std::uint8_t>(lookup.packet.mad).transaction_id();
    lookup.answered = true;
    lookup.packet =
        answer_to(lookup.packet, cm_mad(wire::CmAttribute::kSidrRep, transaction, answer));
    out_.push_back({lookup.port, lookup.packet});
    deadlines_.set(id, now_ns + time_of(kServiceTimeout));
    return 0;
}

void Sidr::forget(SidrId id, std::uint64_t now_ns) {
    const auto found = lookups_.find(id);
    if (found == lookups_.end()) {
        return;
    }
    std::erase_if(events_, [&](const SidrEvent& event) { return event.lookup == id; });
    if (found->second.ours) {
        erase(id);
    } else if (!found->second.answered) {
        wire::CmSidrRep refusal;
        refusal.status = wire::SidrStatus::kRejected;
        answer(id, refusal, now_ns);
    }
}

void Sidr::handle_mad(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns) {
    const wire::Mad<const std::uint8_t> header(packet.mad);
    if (header.attribute_id() == static_cast<std::uint16_t>(wire::CmAttribute::kSidrReq)) {
        handle_req(port, packet, now_ns);
    } else if (header.attribute_id() == static_cast<std::uint16_t>(wire::CmAttribute::kSidrRep)) {
        handle_rep(packet);
    }
}

void Sidr::handle_req(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns) {
    const auto request = wire::parse<wire::CmSidrReq>(wire::cm_data(packet.mad));
    const std::pair asked_by{packet.slid, request.request_id};
    if (const auto found = by_request_.find(asked_by); found != by_request_.end()) {
        const Lookup& known = lookups_.at(found->second);
        if (known.answered) {
            out_.push_back({known.port, known.packet});
        }
        return;
    }
    const SidrId id = add();
    if (id == 0) {
        return;  // There are too many lookups now; the peer will ask again.
    }
    Lookup& lookup = lookups_[id];
    lookup.port = port;
    lookup.asked_by = asked_by;
    lookup.packet = packet;
    by_request_[asked_by] = id;
    deadlines_.set(id, now_ns + time_of(kServiceTimeout));
    events_.push_back({.kind = SidrEvent::kRequest,
                       .lookup = id,
                       .port = port,
                       .from = packet.slid,
                       .request = request});
}

void Sidr::handle_rep(const mad::Packet& packet) {
    const auto rep = wire::parse<wire::CmSidrRep>(wire::cm_data(packet.mad));
    const auto found = lookups_.find(rep.request_id);
    if (found == lookups_.end() || !found->second.ours ||
        found->second.packet.dlid != packet.slid) {
        return;
    }
    events_.push_back({.kind = SidrEvent::kAnswer, .lookup = rep.request_id, .answer = rep});
    erase(rep.request_id);
}

void Sidr::handle_timeout(std::uint64_t now_ns) {
    while (const auto id = deadlines_.take(now_ns)) {
        Lookup& lookup = lookups_.at(*id);
        if (lookup.ours && lookup.retries_left > 0) {
            --lookup.retries_left;
            deadlines_.set(*id, now_ns + time_of(kResponseTimeout));
            out_.push_back({lookup.port, lookup.packet});
            continue;
        }
        if (lookup.ours || !lookup.answered) {
            events_.push_back({.kind = SidrEvent::kTimeout, .lookup = *id});
        }
        erase(*id);
    }
}

std::optional<Outgoing> Sidr::poll_transmit() {
    if (out_.empty()) {
        return std::nullopt;
    }
    Outgoing out = std::move(out_.front());
    out_.pop_front();
    return out;
}

std::optional<SidrEvent> Sidr::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    SidrEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
}

}  // namespace softib::cm
