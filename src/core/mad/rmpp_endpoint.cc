// SPDX-License-Identifier: BSD-2-Clause
#include "core/mad/rmpp_endpoint.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/wire/format/bytes.h"

namespace softib::mad {

using wire::MadBytes;
using wire::RmppHeader;
using wire::RmppStatus;
using wire::RmppType;

namespace {

RmppHeader rmpp_of(const std::uint8_t* mad) {
    return wire::parse<RmppHeader>(std::span<const std::uint8_t, RmppHeader::kBytes>(
        mad + wire::kRmppOffset, RmppHeader::kBytes));
}

bool is_active(const std::uint8_t* mad) {
    return class_has_rmpp(static_cast<wire::MgmtClass>(mad[1])) &&
           (rmpp_of(mad).rmpp_flags & wire::rmpp_flag::kActive) != 0;
}

/// Returns whether a message must go by RMPP. An ACK or ABORT that a program made itself is sent as
/// it is.
bool goes_by_rmpp(const std::uint8_t* message) {
    if (!is_active(message)) {
        return false;
    }
    const RmppType type = rmpp_of(message).rmpp_type;
    return type == RmppType::kNone || type == RmppType::kData;
}

bool is_response(std::uint8_t method) {
    return (method & wire::kMethodResponseBit) != 0;
}

}  // namespace

Packet to_packet(const RmppOutgoing& outgoing) {
    Packet packet;
    packet.mad = outgoing.mad;
    packet.dlid = outgoing.peer.lid;
    packet.source = kQpnServices;
    packet.destination = outgoing.peer.qp;
    packet.qkey = kQKeyServices;
    packet.pkey = outgoing.peer.pkey;
    packet.sl = outgoing.peer.sl;
    return packet;
}

std::string_view to_string(RmppRefusal refusal) {
    switch (refusal) {
        case RmppRefusal::kMalformed:
            return "shorter than its header, or longer than a MAD without the RMPP flag Active";
        case RmppRefusal::kTooLong:
            return "longer than the limit for one message";
        case RmppRefusal::kBusy:
            return "too many transfers are under way: try again later";
        case RmppRefusal::kInProgress:
            return "this transaction is being sent already";
    }
    return "";
}

RmppEndpoint::Key RmppEndpoint::key_of(const RmppPeer& peer, const std::uint8_t* mad,
                                       bool sending) {
    return {.lid = peer.lid,
            .qp = peer.qp,
            .transaction_id = wire::load_be<std::uint64_t>(mad + 8),
            .mgmt_class = mad[1],
            .method = mad[3],
            .sending = sending};
}

std::expected<void, RmppRefusal> RmppEndpoint::send(const RmppPeer& to,
                                                    std::vector<std::uint8_t> message,
                                                    std::uint64_t cookie, std::uint64_t now_ns) {
    return send(to, std::move(message), cookie, now_ns, limits_.timing);
}

std::expected<void, RmppRefusal> RmppEndpoint::send(const RmppPeer& to,
                                                    std::vector<std::uint8_t> message,
                                                    std::uint64_t cookie, std::uint64_t now_ns,
                                                    const RmppTiming& timing) {
    if (message.size() < wire::kRmppOffset + RmppHeader::kBytes) {
        return std::unexpected(RmppRefusal::kMalformed);
    }
    const auto mgmt_class = static_cast<wire::MgmtClass>(message[1]);
    expect_answer(to, message.data());
    if (!goes_by_rmpp(message.data())) {
        if (message.size() > wire::kMadBytes) {
            return std::unexpected(RmppRefusal::kMalformed);
        }
        if (replies_.size() >= limits_.replies_queued_max) {
            return std::unexpected(RmppRefusal::kBusy);
        }
        MadBytes mad{};
        std::ranges::copy(message, mad.begin());
        replies_.push_back({to, mad});
        return {};
    }
    if (message.size() < rmpp_data_offset(mgmt_class)) {
        return std::unexpected(RmppRefusal::kMalformed);
    }
    if (message.size() > limits_.message_bytes_max) {
        return std::unexpected(RmppRefusal::kTooLong);
    }
    const Key key = key_of(to, message.data(), true);
    if (transfers_.contains(key)) {
        return std::unexpected(RmppRefusal::kInProgress);
    }
    if (!has_room(to, message.size())) {
        return std::unexpected(RmppRefusal::kBusy);
    }
    // The answer to a request that came by RMPP may start with the window that its sender offered.
    Key request = key;
    request.sending = false;
    request.method ^= wire::kMethodResponseBit;
    const auto asked = is_response(key.method) ? lingering_.find(request) : lingering_.end();
    const std::uint32_t window = asked == lingering_.end() ? 1 : asked->second.reply_window;

    RmppSender sender(std::move(message), timing, window, now_ns);
    const std::uint64_t deadline_ns = sender.deadline_ns();
    const std::size_t bytes = sender.bytes();
    const auto at = add(key, {.peer = to, .side = std::move(sender), .cookie = cookie});
    set_bytes(at->second, bytes);
    set_deadline(at, deadline_ns);
    make_ready(at);
    return {};
}

void RmppEndpoint::handle_mad(const RmppPeer& from, const MadBytes& mad, std::uint64_t now_ns) {
    if (!is_active(mad.data())) {
        events_.push_back({.kind = RmppEvent::kReceived,
                           .peer = from,
                           .message = std::vector<std::uint8_t>(mad.begin(), mad.end())});
        return;
    }
    const RmppHeader header = rmpp_of(mad.data());
    const bool is_end = header.rmpp_type == RmppType::kStop || header.rmpp_type == RmppType::kAbort;
    if (header.rmpp_version != wire::kRmppVersion && !is_end) {
        refuse(from, mad, RmppStatus::kUnsupportedVersion);
        return;
    }
    switch (header.rmpp_type) {
        case RmppType::kData:
            handle_data(from, mad, now_ns);
            return;
        case RmppType::kAck:
            handle_ack(from, mad, now_ns);
            return;
        case RmppType::kStop:
        case RmppType::kAbort:
            handle_end(from, mad);
            return;
        default:
            refuse(from, mad, RmppStatus::kBadType);
            return;
    }
}

/// Fails the transfer that a MAD belongs to, and sends an ABORT with the reason to its peer.
void RmppEndpoint::refuse(const RmppPeer& from, const MadBytes& mad, RmppStatus status) {
    Key key = key_of(from, mad.data(), false);
    if (const auto at = transfers_.find(key); at != transfers_.end()) {
        fail(at, status, false);
    }
    key.sending = true;
    key.method ^= wire::kMethodResponseBit;
    if (const auto at = transfers_.find(key); at != transfers_.end()) {
        fail(at, status, false);
    }
    reply(from, rmpp_reply(mad, RmppType::kAbort, status, 0, 0));
}

void RmppEndpoint::handle_data(const RmppPeer& from, const MadBytes& mad, std::uint64_t now_ns) {
    const Key key = key_of(from, mad.data(), false);
    if (const auto over = lingering_.find(key); over != lingering_.end()) {
        reply(from, over->second.ack);
        return;
    }
    const RmppHeader header = rmpp_of(mad.data());
    const RmppStatus wrong = RmppReceiver::check(header);
    if (wrong != RmppStatus::kNormal) {
        refuse(from, mad, wrong);
        return;
    }
    if (const auto at = transfers_.find(key); at != transfers_.end()) {
        continue_receive(at, mad, now_ns);
    } else if (header.segment_number == 1) {
        start_receive(key, from, mad, now_ns);
    }
    // Any other segment is a late one, of a transfer that is forgotten.
}

void RmppEndpoint::start_receive(const Key& key, const RmppPeer& from, const MadBytes& mad,
                                 std::uint64_t now_ns) {
    const RmppHeader header = rmpp_of(mad.data());
    if (header.payload_length > limits_.message_bytes_max || !has_room(from, wire::kMadBytes)) {
        reply(from, rmpp_reply(mad, RmppType::kStop, RmppStatus::kResourcesExhausted, 0, 0));
        return;
    }
    RmppReceiver receiver(mad, limits_.window_segments, limits_.timing, now_ns);
    const std::uint64_t deadline_ns = receiver.deadline_ns();
    const auto at = add(key, {.peer = from, .side = std::move(receiver)});
    set_deadline(at, deadline_ns);
    continue_receive(at, mad, now_ns);
}

void RmppEndpoint::continue_receive(Transfers::iterator at, const MadBytes& mad,
                                    std::uint64_t now_ns) {
    auto& [key, transfer] = *at;
    auto& receiver = std::get<RmppReceiver>(transfer.side);
    const std::size_t bytes = receiver.bytes_with(rmpp_of(mad.data()));
    const Use& use = use_[key.lid];
    if (bytes > limits_.message_bytes_max ||
        use.bytes - transfer.bytes + bytes > limits_.bytes_per_peer_max) {
        reply(transfer.peer, receiver.abort(RmppType::kStop, RmppStatus::kResourcesExhausted));
        fail(at, RmppStatus::kResourcesExhausted, false);
        return;
    }
    const RmppStep step = receiver.handle_data(mad);
    set_bytes(transfer, receiver.bytes());
    if (step.state == RmppStep::kFailed) {
        fail(at, step.status, true);
        return;
    }
    if (step.ack) {
        reply(transfer.peer, receiver.ack());
    }
    if (step.state == RmppStep::kDone) {
        linger(key, receiver.ack(), now_ns);
        events_.push_back({.kind = RmppEvent::kReceived,
                           .peer = transfer.peer,
                           .message = receiver.take_message()});
        remove(at);
    }
}

void RmppEndpoint::handle_ack(const RmppPeer& from, const MadBytes& mad, std::uint64_t now_ns) {
    Key key = key_of(from, mad.data(), true);
    key.method ^= wire::kMethodResponseBit;
    const RmppHeader header = rmpp_of(mad.data());
    const auto at = transfers_.find(key);
    if (at == transfers_.end()) {
        // The sender of a request by RMPP turns the direction round with an ACK of segment 0, whose
        // window says how many segments of the answer may come at once (IBA vol. 1, 13.6.6.3).
        const auto over = lingering_.find(key_of(from, mad.data(), false));
        if (over != lingering_.end() && header.segment_number == 0) {
            over->second.reply_window =
                std::clamp(header.payload_length, std::uint32_t{1}, limits_.window_segments);
        }
        return;
    }
    auto& sender = std::get<RmppSender>(at->second.side);
    const RmppStep step = sender.handle_ack(header, now_ns);
    switch (step.state) {
        case RmppStep::kGoing:
            set_deadline(at, sender.deadline_ns());
            make_ready(at);
            return;
        case RmppStep::kDone:
            if (!is_response(key.method)) {
                reply(from, rmpp_reply(mad, RmppType::kAck, RmppStatus::kNormal, 0,
                                       limits_.window_segments));
            }
            finish_send(at);
            return;
        case RmppStep::kFailed:
            fail(at, step.status, true);
            return;
    }
}

/// Handles a STOP or ABORT, from the receiver of a message that we send or from the sender of a
/// message that we receive.
void RmppEndpoint::handle_end(const RmppPeer& from, const MadBytes& mad) {
    const RmppHeader header = rmpp_of(mad.data());
    const bool is_stop = header.rmpp_type == RmppType::kStop;
    const bool legal = is_stop ? header.rmpp_status == RmppStatus::kResourcesExhausted
                               : header.rmpp_status >= RmppStatus::kTotalTimeTooLong &&
                                     header.rmpp_status <= RmppStatus::kUnspecified;
    // An illegal one is not answered, or two endpoints that disagree would never end.
    const RmppStatus status = legal ? header.rmpp_status : RmppStatus::kIllegalStatus;
    Key key = key_of(from, mad.data(), false);
    auto at = transfers_.find(key);
    if (at == transfers_.end()) {
        key.sending = true;
        key.method ^= wire::kMethodResponseBit;
        at = transfers_.find(key);
    }
    if (at != transfers_.end()) {
        fail(at, status, false);
    }
}

void RmppEndpoint::handle_timeout(std::uint64_t now_ns) {
    while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
        const auto at = transfers_.find(deadlines_.begin()->second);
        SOFTIB_CHECK(at != transfers_.end());
        auto* sender = std::get_if<RmppSender>(&at->second.side);
        if (sender == nullptr) {
            fail(at, RmppStatus::kTotalTimeTooLong, true);
            continue;
        }
        const RmppStep step = sender->handle_timeout(now_ns);
        if (step.state == RmppStep::kFailed) {
            fail(at, step.status, true);
            continue;
        }
        set_deadline(at, sender->deadline_ns());
        make_ready(at);
    }
    while (!lingering_until_.empty() && lingering_until_.front().first <= now_ns) {
        forget_oldest();
    }
}

std::uint64_t RmppEndpoint::next_timeout_ns() const {
    std::uint64_t next = UINT64_MAX;
    if (!deadlines_.empty()) {
        next = deadlines_.begin()->first;
    }
    if (!lingering_until_.empty()) {
        next = std::min(next, lingering_until_.front().first);
    }
    return next;
}

void RmppEndpoint::forget(Lid lid) {
    for (auto at = transfers_.lower_bound(Key{.lid = lid, .qp = Qpn{0}});
         at != transfers_.end() && at->first.lid == lid;) {
        remove(at++);
    }
}

std::optional<RmppOutgoing> RmppEndpoint::poll_transmit() {
    if (!replies_.empty()) {
        RmppOutgoing out = std::move(replies_.front());
        replies_.pop_front();
        return out;
    }
    while (!ready_.empty()) {
        const Key key = ready_.front();
        ready_.pop_front();
        const auto at = transfers_.find(key);
        if (at == transfers_.end() || !at->second.queued) {
            continue;
        }
        at->second.queued = false;
        auto& sender = std::get<RmppSender>(at->second.side);
        if (!sender.wants_to_send()) {
            continue;
        }
        RmppOutgoing out{at->second.peer, sender.next_segment()};
        make_ready(at);
        return out;
    }
    return std::nullopt;
}

std::optional<RmppEvent> RmppEndpoint::poll_event() {
    if (events_.empty()) {
        return std::nullopt;
    }
    RmppEvent event = std::move(events_.front());
    events_.pop_front();
    return event;
}

RmppEndpoint::Transfers::iterator RmppEndpoint::add(const Key& key, Transfer transfer) {
    const auto [at, added] = transfers_.emplace(key, std::move(transfer));
    SOFTIB_CHECK(added);
    ++use_[key.lid].transfers;
    return at;
}

void RmppEndpoint::remove(Transfers::iterator at) {
    deadlines_.erase({at->second.deadline_ns, at->first});
    set_bytes(at->second, 0);
    const auto use = use_.find(at->first.lid);
    if (--use->second.transfers == 0) {
        use_.erase(use);
    }
    transfers_.erase(at);
}

void RmppEndpoint::set_deadline(Transfers::iterator at, std::uint64_t deadline_ns) {
    deadlines_.erase({at->second.deadline_ns, at->first});
    at->second.deadline_ns = deadline_ns;
    deadlines_.emplace(deadline_ns, at->first);
}

void RmppEndpoint::set_bytes(Transfer& transfer, std::size_t bytes) {
    Use& use = use_[transfer.peer.lid];
    use.bytes = use.bytes - transfer.bytes + bytes;
    transfer.bytes = bytes;
}

void RmppEndpoint::make_ready(Transfers::iterator at) {
    if (!at->second.queued && std::get<RmppSender>(at->second.side).wants_to_send()) {
        at->second.queued = true;
        ready_.push_back(at->first);
    }
}

bool RmppEndpoint::has_room(const RmppPeer& peer, std::size_t bytes) const {
    if (transfers_.size() >= limits_.transfers_max) {
        return false;
    }
    const auto use = use_.find(peer.lid);
    return use == use_.end() || (use->second.transfers < limits_.transfers_per_peer_max &&
                                 use->second.bytes + bytes <= limits_.bytes_per_peer_max);
}

void RmppEndpoint::fail(Transfers::iterator at, RmppStatus status, bool tell_peer) {
    Transfer& transfer = at->second;
    RmppEvent event{.peer = transfer.peer, .status = status, .cookie = transfer.cookie};
    if (auto* sender = std::get_if<RmppSender>(&transfer.side)) {
        if (tell_peer) {
            reply(transfer.peer, sender->abort(status));
        }
        event.kind = RmppEvent::kSendFailed;
        event.message = sender->take_message();
    } else {
        auto& receiver = std::get<RmppReceiver>(transfer.side);
        if (tell_peer) {
            reply(transfer.peer, receiver.abort(RmppType::kAbort, status));
        }
        event.kind = RmppEvent::kReceiveFailed;
        const MadBytes first = receiver.first();
        event.message.assign(first.begin(), first.end());
    }
    events_.push_back(std::move(event));
    remove(at);
}

void RmppEndpoint::finish_send(Transfers::iterator at) {
    events_.push_back({.kind = RmppEvent::kSent,
                       .peer = at->second.peer,
                       .message = std::get<RmppSender>(at->second.side).take_message(),
                       .cookie = at->second.cookie});
    remove(at);
}

void RmppEndpoint::linger(const Key& key, const MadBytes& ack, std::uint64_t now_ns) {
    while (lingering_until_.size() >= limits_.lingering_max) {
        forget_oldest();
    }
    lingering_[key] = {.ack = ack, .until_ns = now_ns + limits_.linger_ns};
    lingering_until_.emplace_back(now_ns + limits_.linger_ns, key);
}

void RmppEndpoint::forget_oldest() {
    const auto& [until_ns, key] = lingering_until_.front();
    const auto at = lingering_.find(key);
    if (at != lingering_.end() && at->second.until_ns == until_ns) {
        lingering_.erase(at);
    }
    lingering_until_.pop_front();
}

/// Forgets an answer that was delivered for this transaction, since a caller that sends the request
/// again wants the answer again.
void RmppEndpoint::expect_answer(const RmppPeer& to, const std::uint8_t* request) {
    Key key = key_of(to, request, false);
    if (!is_response(key.method)) {
        key.method ^= wire::kMethodResponseBit;
        lingering_.erase(key);
    }
}

void RmppEndpoint::reply(const RmppPeer& to, const MadBytes& mad) {
    if (replies_.size() < limits_.replies_queued_max) {
        replies_.push_back({to, mad});
    }
}

}  // namespace softib::mad
