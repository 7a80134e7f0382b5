// SPDX-License-Identifier: BSD-2-Clause
#include "umad/port.h"

#include <arpa/inet.h>
#include <endian.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/wire/mad/rmpp.h"

namespace softib::umad {

namespace {

constexpr int kMadTimeoutMs = 1000;

}  // namespace

Port::Port() : buffer_(umad_size() + wire::kMadBytes) {}

Port::~Port() {
    if (issm_ >= 0) {
        close(issm_);
    }
    if (id_ >= 0) {
        umad_close_port(id_);
    }
    if (known_) {
        umad_release_port(&port_);
    }
}

std::expected<void, std::string> Port::open(const std::string& device, int port) {
    const char* const name = device.empty() ? nullptr : device.c_str();
    if (umad_init() < 0 || umad_get_port(name, port, &port_) < 0) {
        return std::unexpected(
            fmt::format("no InfiniBand port{}: see ibstat; on a softib fabric, run this program "
                        "with: softib exec HOST -- PROGRAM",
                        device.empty() ? "" : " on " + device));
    }
    known_ = true;
    id_ = umad_open_port(port_.ca_name, port_.portnum);
    if (id_ < 0) {
        return std::unexpected(fmt::format("cannot open {} port {}: {}", port_.ca_name,
                                           port_.portnum, std::strerror(errno)));
    }
    return {};
}

bool Port::add_agents(const std::vector<Agent>& agents) {
    for (const Agent& agent : agents) {
        umad_reg_attr attr{};
        attr.mgmt_class = agent.mgmt_class;
        attr.mgmt_class_version = agent.version;
        if (agent.whole_messages) {
            attr.rmpp_version = wire::kRmppVersion;
        } else {
            attr.flags = UMAD_USER_RMPP;
        }
        attr.oui = agent.oui;
        for (const wire::Method method : agent.methods) {
            const auto bit = static_cast<unsigned>(method);
            attr.method_mask[bit / 64] |= std::uint64_t{1} << bit % 64;
        }
        if (umad_register2(id_, &attr, &agents_[agent.mgmt_class]) != 0) {
            return false;
        }
    }
    return true;
}

std::expected<void, std::string> Port::claim_manager() {
    char path[256] = "";
    if (umad_get_issm_path(port_.ca_name, port_.portnum, path, sizeof path) == 0) {
        issm_ = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    }
    if (issm_ < 0) {
        return std::unexpected(fmt::format("cannot set the port's IsSM bit (open {}): {}", path,
                                           std::strerror(errno)));
    }
    return {};
}

Guid Port::guid() const {
    return Guid{be64toh(port_.port_guid)};
}

Port::Lids Port::lids() const {
    umad_port_t now{};
    if (umad_get_port(port_.ca_name, port_.portnum, &now) < 0) {
        return {};
    }
    const Lids lids{Lid{static_cast<std::uint16_t>(now.base_lid)},
                    Lid{static_cast<std::uint16_t>(now.sm_lid)}};
    umad_release_port(&now);
    return lids;
}

std::string Port::name() const {
    return fmt::format("{} port {}", port_.ca_name, port_.portnum);
}

void Port::send(const mad::Packet& packet) {
    const wire::Mad<const std::uint8_t> header(packet.mad);
    const auto agent = agents_.find(static_cast<std::uint8_t>(header.mgmt_class()));
    if (agent == agents_.end()) {
        return;
    }
    std::ranges::fill(buffer_, std::uint8_t{0});
    umad_set_addr(buffer_.data(), packet.dlid.value, static_cast<int>(packet.destination.value),
                  packet.sl, static_cast<int>(packet.qkey.value));
    umad_set_grh(buffer_.data(), nullptr);
    umad_set_pkey(buffer_.data(), pkey_index(packet.pkey));
    std::memcpy(umad_get_mad(buffer_.data()), packet.mad.data(), packet.mad.size());
    // libibumad delivers responses only to requests that were sent with a timeout. The caller has
    // timeouts of its own.
    const int timeout = wire::wants_response(header.method()) ? kMadTimeoutMs : 0;
    umad_send(id_, static_cast<int>(agent->second), buffer_.data(), wire::kMadBytes, timeout, 0);
}

std::optional<mad::Packet> Port::receive(bool& any) {
    auto message = receive_message(any);
    return message ? std::optional(message->first) : std::nullopt;
}

std::optional<Port::Message> Port::receive_message(bool& any) {
    int length = wire::kMadBytes;
    int got = umad_recv(id_, buffer_.data(), &length, 0);
    if (got < 0 && length > static_cast<int>(wire::kMadBytes)) {  // `length` has the real length.
        buffer_.resize(std::max(buffer_.size(), umad_size() + static_cast<std::size_t>(length)));
        got = umad_recv(id_, buffer_.data(), &length, 0);
    }
    any = got >= 0;
    if (!any || umad_status(buffer_.data()) != 0) {
        return std::nullopt;
    }
    Message message;
    mad::Packet& packet = message.first;
    const auto* const mad = static_cast<const std::uint8_t*>(umad_get_mad(buffer_.data()));
    message.bytes.assign(mad, mad + std::max(length, 0));
    std::memcpy(packet.mad.data(), mad, packet.mad.size());
    const ib_mad_addr_t* const from = umad_get_mad_addr(buffer_.data());
    packet.slid = Lid{ntohs(from->lid)};
    packet.source = Qpn{ntohl(from->qpn)};
    packet.sl = from->sl;
    if (from->pkey_index < port_.pkeys_size && port_.pkeys != nullptr) {
        packet.pkey = PKey{port_.pkeys[from->pkey_index]};
    }
    return message;
}

int Port::pkey_index(PKey pkey) const {
    for (unsigned i = 0; port_.pkeys != nullptr && i < port_.pkeys_size; ++i) {
        if (matches(PKey{port_.pkeys[i]}, pkey)) {
            return static_cast<int>(i);
        }
    }
    return 0;
}

}  // namespace softib::umad
