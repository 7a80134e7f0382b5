// SPDX-License-Identifier: BSD-2-Clause
#include "core/agent/mad_dispatcher.h"

#include <algorithm>
#include <utility>

#include "core/agent/arrival.h"
#include "core/base/check.h"

namespace softib::agent {

namespace {

/// The token of the first service; that of each further one is one more. Lower tokens are those of
/// transactions (make_token).
constexpr MadToken kFirstServiceToken = UINT32_MAX - MadDispatcher::kServicesMax + 1;

constexpr std::uint64_t kLowerHalf = UINT32_MAX;

bool is_interested(const MadInterest& in, const wire::Mad<const std::uint8_t>& mad) {
    return in.mgmt_class == mad.mgmt_class() && in.method.value_or(mad.method()) == mad.method() &&
           in.class_version.value_or(mad.class_version()) == mad.class_version();
}

bool listens_at(const MadService& service, NodeId node) {
    return service.nodes.empty() || std::ranges::binary_search(service.nodes, node);
}

}  // namespace

MadToken MadDispatcher::add(MadService service) {
    SOFTIB_CHECK(services_.size() < kServicesMax);
    std::ranges::sort(service.nodes);
    services_.push_back({std::move(service), {}});
    return kFirstServiceToken + static_cast<MadToken>(services_.size() - 1);
}

void MadDispatcher::stamp(MadToken service, wire::MadBytes& mad) const {
    if (wire::wants_response(wire::Mad<const std::uint8_t>(mad).method())) {
        set_token(mad, service);
    }
}

MadToken MadDispatcher::make_token() {
    last_token_ = last_token_ + 1 == kFirstServiceToken ? 1 : last_token_ + 1;
    return last_token_;
}

bool MadDispatcher::deliver(const Delivery& delivery) {
    const wire::Mad<const std::uint8_t> header(delivery.packet.mad);
    const bool is_response =
        (static_cast<unsigned>(header.method()) & wire::kMethodResponseBit) != 0;
    const MadToken token = token_of(delivery.packet.mad);
    const bool to_service = is_response && token >= kFirstServiceToken;
    Entry* entry = nullptr;
    if (to_service) {
        entry = find_asker(token, delivery.at.node);
    } else if (is_response) {
        entry = find_rest(delivery.at.node);
    } else {
        entry = find_server(delivery.packet.mad, delivery.at.node);
    }
    if (entry == nullptr) {
        return false;
    }
    entry->queue.push_back(delivery);
    ++waiting_;
    if (to_service) {
        set_token(entry->queue.back().packet.mad, 0);
    }
    return true;
}

std::optional<Delivery> MadDispatcher::poll(MadToken service) {
    std::deque<Delivery>& queue = services_[service - kFirstServiceToken].queue;
    if (queue.empty()) {
        return std::nullopt;
    }
    Delivery first = std::move(queue.front());
    queue.pop_front();
    --waiting_;
    return first;
}

MadDispatcher::Entry* MadDispatcher::find_asker(MadToken token, NodeId node) {
    const std::size_t index = token - kFirstServiceToken;
    return index < services_.size() && listens_at(services_[index].service, node)
               ? &services_[index]
               : nullptr;
}

MadDispatcher::Entry* MadDispatcher::find_server(const wire::MadBytes& mad, NodeId node) {
    const wire::Mad<const std::uint8_t> header(mad);
    const auto serves = [&](const Entry& entry) {
        return listens_at(entry.service, node) &&
               std::ranges::any_of(entry.service.interests, [&](const MadInterest& in) {
                   return is_interested(in, header);
               });
    };
    const auto found = std::ranges::find_if(services_, serves);
    return found != services_.end() ? &*found : find_rest(node);
}

MadDispatcher::Entry* MadDispatcher::find_rest(NodeId node) {
    const auto found = std::ranges::find_if(services_, [&](const Entry& entry) {
        return entry.service.interests.empty() && listens_at(entry.service, node);
    });
    return found != services_.end() ? &*found : nullptr;
}

std::vector<MadInterest> interests_in(std::span<const wire::MgmtClass> classes) {
    std::vector<MadInterest> interests;
    for (const wire::MgmtClass mgmt_class : classes) {
        interests.push_back({.mgmt_class = mgmt_class});
    }
    return interests;
}

MadToken token_of(const wire::MadBytes& mad) {
    return static_cast<MadToken>(wire::Mad<const std::uint8_t>(mad).transaction_id() >> 32);
}

void set_token(wire::MadBytes& mad, MadToken token) {
    const wire::Mad<std::uint8_t> header(mad);
    header.set_transaction_id(std::uint64_t{token} << 32 | (header.transaction_id() & kLowerHalf));
}

std::optional<mad::Packet> decline(const mad::Packet& request) {
    const wire::Method method = wire::Mad<const std::uint8_t>(request.mad).method();
    if (is_subnet(request) || (method != wire::Method::kGet && method != wire::Method::kSet)) {
        return std::nullopt;
    }
    mad::Packet answer = request;
    answer.mad = wire::respond_with_status(request.mad, wire::mad_status::kUnsupportedClass);
    std::swap(answer.slid, answer.dlid);
    std::swap(answer.source, answer.destination);
    return answer;
}

}  // namespace softib::agent
