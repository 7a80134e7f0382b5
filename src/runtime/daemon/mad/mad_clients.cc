// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/mad/mad_clients.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "core/base/time_units.h"
#include "core/wire/mad/mad.h"

namespace softib::daemon {

namespace {

constexpr std::uint8_t kVendorRange2First = 0x30;
constexpr std::uint8_t kVendorRange2Last = 0x4F;
constexpr std::size_t kOuiOffset = 37;  // After the RMPP header and a reserved byte.

wire::MadBytes first_mad(const std::vector<std::uint8_t>& message) {
    wire::MadBytes mad{};
    std::copy_n(message.begin(), std::min(message.size(), mad.size()), mad.begin());
    return mad;
}

bool is_response(const std::vector<std::uint8_t>& message) {
    const wire::MadBytes mad = first_mad(message);
    const wire::Mad<const std::uint8_t> header(mad);
    return (static_cast<unsigned>(header.method()) & wire::kMethodResponseBit) != 0 ||
           header.method() == wire::Method::kTrapRepress;
}

agent::MadToken token_of(const std::vector<std::uint8_t>& message) {
    return wire::load_be<std::uint32_t>(message.data() + 8);
}

void set_token(std::vector<std::uint8_t>& message, agent::MadToken token) {
    wire::store_be(message.data() + 8, token);
}

std::uint64_t wait_ns(const shm::MadFrame& frame) {
    return std::min<std::uint64_t>(frame.timeout_ms, INT_MAX) * kNsPerMs;
}

bool is_subnet(std::uint8_t mgmt_class) {
    return mgmt_class == static_cast<std::uint8_t>(wire::MgmtClass::kSubnLidRouted) ||
           mgmt_class == static_cast<std::uint8_t>(wire::MgmtClass::kSubnDirectedRoute);
}

}  // namespace

void MadClients::open(int fd, std::uint32_t hca) {
    clients_[fd].hca = hca;
}

void MadClients::close(int fd, std::uint64_t) {
    clients_.erase(fd);
    std::erase_if(waiting_, [&](const auto& entry) { return entry.second.fd == fd; });
    std::erase_if(deadlines_, [&](const auto& entry) { return !waiting_.contains(entry.second); });
    std::erase_if(out_, [&](const Outgoing& out) { return out.fd == fd; });
    out_taken_ = std::min(out_taken_, out_.size());
}

void MadClients::register_agent(int fd, const shm::MadAgent& agent) {
    Client& client = clients_.at(fd);
    if (client.agents.size() < kMadAgentsMax) {
        client.agents[agent.id] = agent;
    }
}

void MadClients::unregister_agent(int fd, std::uint32_t id) {
    clients_.at(fd).agents.erase(id);
}

bool MadClients::uses_rmpp(std::uint32_t hca, std::uint8_t mgmt_class) const {
    return mad::class_has_rmpp(static_cast<wire::MgmtClass>(mgmt_class)) &&
           std::ranges::any_of(clients_, [&](const auto& entry) {
               return entry.second.hca == hca &&
                      std::ranges::any_of(entry.second.agents, [&](const auto& agent) {
                          return agent.second.rmpp != 0 && agent.second.mgmt_class == mgmt_class;
                      });
           });
}

std::uint16_t MadClients::pkey_index(std::uint32_t hca, PKey pkey) const {
    for (std::uint16_t i = 0; i < shm::kPKeysPerPort; ++i) {
        if ((arena_.hcas[hca].pkeys[i].load(std::memory_order_relaxed) & 0x7FFF) ==
            (pkey.value & 0x7FFF)) {
            return i;
        }
    }
    return 0;
}

void MadClients::send(int fd, const shm::MadFrame& frame, std::vector<std::uint8_t> message,
                      std::uint64_t now_ns) {
    Client& client = clients_.at(fd);
    const auto agent = client.agents.find(frame.agent);
    const bool by_rmpp = agent != client.agents.end() && agent->second.rmpp != 0 &&
                         mad::class_has_rmpp(static_cast<wire::MgmtClass>(message[1]));
    if (message.size() > wire::kMadBytes && !by_rmpp) {
        out_.push_back({fd, EINVAL, frame, std::move(message)});
        return;
    }
    // An answer gets no answer. A program that waits for one all the same gets ETIMEDOUT.
    const bool answers = is_response(message);
    if (answers && frame.timeout_ms == 0) {
        transmit(client.hca, frame, message, by_rmpp, now_ns);
        return;
    }
    const agent::MadToken token = management_.dispatcher().make_token();
    std::vector<std::uint8_t> named = message;
    if (!answers) {
        set_token(named, token);
    }
    if (frame.timeout_ms != 0) {
        ++client.waiting;
        const std::uint64_t deadline =
            frame.timeout_ms == shm::kMadForever ? UINT64_MAX : now_ns + wait_ns(frame);
        waiting_.insert_or_assign(token,
                                  Waiting{fd, frame, std::move(message), deadline, frame.retries});
        if (deadline != UINT64_MAX) {
            deadlines_.emplace(deadline, token);
        }
    }
    transmit(client.hca, frame, named, by_rmpp, now_ns);
    take_deliveries(now_ns);
    // Most requests have their answer by now.
    if (client.waiting > kMadsWaitingMax && waiting_.contains(token)) {
        give_up(token, ENOBUFS);
    }
}

bool MadClients::take_deliveries(std::uint64_t now_ns) {
    bool any = false;
    while (auto delivery = management_.poll_delivery(service_)) {
        any = true;
        arrived(delivery->hca, delivery->packet, now_ns);
    }
    return pump_rmpp(now_ns) || any;
}

void MadClients::transmit(std::uint32_t hca, const shm::MadFrame& frame,
                          const std::vector<std::uint8_t>& message, bool by_rmpp,
                          std::uint64_t now_ns) {
    const PKey pkey{frame.pkey_index < shm::kPKeysPerPort
                        ? arena_.hcas[hca].pkeys[frame.pkey_index].load(std::memory_order_relaxed)
                        : std::uint16_t{0}};
    if (by_rmpp) {
        const mad::RmppPeer peer{Lid{frame.remote_lid}, Qpn{frame.remote_qpn}, pkey, frame.sl};
        static_cast<void>(rmpp_[hca].send(peer, message, 0, now_ns));
        pump_rmpp(now_ns);
        return;
    }
    mad::Packet packet;
    packet.mad = first_mad(message);
    packet.dlid = Lid{frame.remote_lid};
    packet.source = is_subnet(message[1]) ? mad::kQpnSubnet : mad::kQpnServices;
    packet.destination = Qpn{frame.remote_qpn};
    packet.qkey = QKey{frame.remote_qkey};
    packet.pkey = pkey;
    packet.sl = frame.sl;
    management_.send(hca, packet, now_ns);
}

std::uint64_t MadClients::run(std::uint64_t now_ns) {
    for (bool busy = true; busy;) {
        for (auto& [hca, endpoint] : rmpp_) {
            endpoint.handle_timeout(now_ns);
        }
        busy = take_deliveries(now_ns);
        while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
            busy = true;
            const agent::MadToken token = deadlines_.begin()->second;
            deadlines_.erase(deadlines_.begin());
            const auto found = waiting_.find(token);
            if (found == waiting_.end()) {
                continue;
            }
            Waiting& waiting = found->second;
            if (waiting.retries_left == 0) {
                give_up(token, ETIMEDOUT);
                continue;
            }
            --waiting.retries_left;
            waiting.deadline_ns = now_ns + wait_ns(waiting.frame);
            deadlines_.emplace(waiting.deadline_ns, token);
            std::vector<std::uint8_t> named = waiting.message;
            if (!is_response(named)) {
                set_token(named, token);
            }
            const std::uint32_t hca = clients_.at(waiting.fd).hca;
            const shm::MadFrame frame = waiting.frame;
            // RMPP repeats by itself.
            if (!uses_rmpp(hca, named[1])) {
                transmit(hca, frame, named, false, now_ns);
            }
        }
    }
    std::uint64_t next = deadlines_.empty() ? UINT64_MAX : deadlines_.begin()->first;
    for (const auto& [hca, endpoint] : rmpp_) {
        next = std::min(next, endpoint.next_timeout_ns());
    }
    return next;
}

void MadClients::give_up(agent::MadToken token, int status) {
    auto node = waiting_.extract(token);
    Waiting& waiting = node.mapped();
    --clients_.at(waiting.fd).waiting;
    out_.push_back({waiting.fd, status, waiting.frame, std::move(waiting.message)});
}

bool MadClients::pump_rmpp(std::uint64_t now_ns) {
    bool any = false;
    for (auto& [hca, endpoint] : rmpp_) {
        while (const auto outgoing = endpoint.poll_transmit()) {
            any = true;
            management_.send(hca, mad::to_packet(*outgoing), now_ns);
        }
        while (auto event = endpoint.poll_event()) {
            any = true;
            if (event->kind == mad::RmppEvent::kReceived) {
                shm::MadFrame from;
                from.remote_lid = event->peer.lid.value;
                from.remote_qpn = event->peer.qp.value;
                from.remote_qkey = mad::kQKeyServices.value;
                from.pkey_index = pkey_index(hca, event->peer.pkey);
                from.sl = event->peer.sl;
                dispatch(hca, from, std::move(event->message), now_ns);
            } else if (event->kind != mad::RmppEvent::kSent && event->message.size() >= 16) {
                const agent::MadToken token = token_of(event->message);
                if (waiting_.contains(token)) {
                    give_up(token, ETIMEDOUT);
                }
            }
        }
    }
    return any;
}

void MadClients::arrived(std::uint32_t hca, const mad::Packet& packet, std::uint64_t now_ns) {
    if (uses_rmpp(hca, packet.mad[1])) {
        rmpp_[hca].handle_mad({packet.slid, packet.source, packet.pkey, packet.sl}, packet.mad,
                              now_ns);
        return;
    }
    shm::MadFrame from;
    from.remote_lid = packet.slid.value;
    from.remote_qpn = packet.source.value;
    from.remote_qkey = packet.qkey.value;
    from.pkey_index = pkey_index(hca, packet.pkey);
    from.sl = packet.sl;
    dispatch(hca, from, {packet.mad.begin(), packet.mad.end()}, now_ns);
}

const shm::MadAgent* MadClients::find_agent(std::uint32_t hca,
                                            const std::vector<std::uint8_t>& message,
                                            int& fd) const {
    const std::uint8_t mgmt_class = message[1];
    const std::uint8_t version = message[2];
    const std::uint8_t method = message[3] & 0x7F;
    for (const auto& [client_fd, client] : clients_) {
        if (client.hca != hca) {
            continue;
        }
        for (const auto& [id, agent] : client.agents) {
            if (agent.mgmt_class != mgmt_class || agent.version != version ||
                (agent.method_mask[method / 64] >> (method % 64) & 1) == 0) {
                continue;
            }
            if (mgmt_class >= kVendorRange2First && mgmt_class <= kVendorRange2Last) {
                const std::uint32_t oui = std::uint32_t{message[kOuiOffset]} << 16 |
                                          std::uint32_t{message[kOuiOffset + 1]} << 8 |
                                          message[kOuiOffset + 2];
                if (oui != agent.oui) {
                    continue;
                }
            }
            fd = client_fd;
            return &agent;
        }
    }
    return nullptr;
}

void MadClients::dispatch(std::uint32_t hca, const shm::MadFrame& from,
                          std::vector<std::uint8_t> message, std::uint64_t now_ns) {
    const wire::MadBytes mad = first_mad(message);
    const wire::Mad<const std::uint8_t> header(mad);
    shm::MadFrame frame = from;
    if ((static_cast<unsigned>(header.method()) & wire::kMethodResponseBit) != 0) {
        const auto found = waiting_.find(token_of(message));
        if (found == waiting_.end()) {
            return;  // It is late, or answers no request.
        }
        auto node = waiting_.extract(found);
        Waiting& waiting = node.mapped();
        frame.agent = waiting.frame.agent;
        frame.timeout_ms = waiting.frame.timeout_ms;
        frame.retries = waiting.frame.retries;
        set_token(message, token_of(waiting.message));
        --clients_.at(waiting.fd).waiting;
        out_.push_back({waiting.fd, 0, frame, std::move(message)});
        return;
    }
    int fd = -1;
    if (const shm::MadAgent* agent = find_agent(hca, message, fd)) {
        frame.agent = agent->id;
        out_.push_back({fd, 0, frame, std::move(message)});
        return;
    }
    // A request that no agent takes is answered with an error, as in the kernel.
    if (header.method() == wire::Method::kGet || header.method() == wire::Method::kSet) {
        mad::Packet answer;
        answer.mad = wire::respond_with_status(mad, wire::mad_status::kUnsupportedAttribute);
        answer.dlid = Lid{from.remote_lid};
        answer.source = is_subnet(message[1]) ? mad::kQpnSubnet : mad::kQpnServices;
        answer.destination = Qpn{from.remote_qpn};
        answer.qkey = QKey{from.remote_qkey};
        answer.sl = from.sl;
        answer.pkey = PKey{arena_.hcas[hca].pkeys[from.pkey_index].load(std::memory_order_relaxed)};
        if (!is_subnet(message[1])) {
            management_.send(hca, answer, now_ns);
        }
    }
}

std::optional<MadClients::Outgoing> MadClients::poll() {
    if (out_taken_ == out_.size()) {
        out_.clear();
        out_taken_ = 0;
        return std::nullopt;
    }
    return std::move(out_[out_taken_++]);
}

}  // namespace softib::daemon
