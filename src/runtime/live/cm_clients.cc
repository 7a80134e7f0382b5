// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/live/cm_clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/cm/address.h"
#include "core/wire/mad.h"

namespace softib::live {

void CmClients::open(int fd, std::uint32_t host) {
    programs_[fd] = host;
}

std::uint32_t CmClients::open_channel(int fd) {
    do {
        ++last_channel_;
    } while (last_channel_ == 0 || channels_.contains(last_channel_));
    channels_[last_channel_].fd = fd;
    channel_of_[fd] = last_channel_;
    return last_channel_;
}

void CmClients::close(int fd, std::uint64_t now_ns) {
    if (const auto program = programs_.extract(fd)) {
        std::vector<Key> held;
        for (const auto& [key, endpoint] : endpoints_) {
            if (endpoint.program == fd) {
                held.push_back(key);
            }
        }
        for (const Key& key : held) {
            if (endpoints_.contains(key)) {
                destroy(key, now_ns);
            }
        }
        pump(program.mapped(), now_ns);
    }
    if (const auto channel = channel_of_.extract(fd)) {
        channels_.erase(channel.mapped());
        ready_.erase(channel.mapped());
    }
}

CmClients::Manager& CmClients::manager(std::uint32_t host) {
    std::unique_ptr<Manager>& manager = managers_[host];
    if (!manager) {
        manager = std::make_unique<Manager>(arena_, addresses_, host);
    }
    return *manager;
}

cm::Reply CmClients::execute(int fd, const cm::Command& command, std::uint64_t now_ns) {
    const std::uint32_t host = programs_.at(fd);
    const Key key{host, command.id};
    cm::Reply reply;
    if (command.operation == cm::Operation::kCreateId) {
        reply = manager(host).host.execute(command, now_ns);
        if (reply.status == 0) {
            endpoints_[{host, reply.id}] = {.program = fd, .channel = command.channel};
        }
        return reply;
    }
    const auto found = endpoints_.find(key);
    if (found == endpoints_.end() || found->second.program != fd) {
        reply.status = EINVAL;
        return reply;
    }
    if (command.operation == cm::Operation::kDestroyId) {
        destroy(key, now_ns);
    } else if (command.operation == cm::Operation::kMigrate) {
        migrate(key, command.channel);
    } else {
        reply = manager(host).host.execute(command, now_ns);
    }
    pump(host, now_ns);
    return reply;
}

/// What is queued for an endpoint goes with it; a connection that nobody has seen yet, too.
void CmClients::destroy(const Key& key, std::uint64_t now_ns) {
    const auto endpoint = endpoints_.extract(key);
    std::vector<Key> unseen;
    if (const auto found = channels_.find(endpoint.mapped().channel); found != channels_.end()) {
        std::erase_if(found->second.events, [&](const Queued& queued) {
            const bool of_listener = queued.event.type == cm::EventType::kConnectRequest &&
                                     queued.event.listener == key.second;
            if (queued.host == key.first && of_listener) {
                unseen.emplace_back(key.first, queued.event.id);
            }
            return queued.host == key.first && (of_listener || queued.event.id == key.second);
        });
        if (found->second.events.empty()) {
            ready_.erase(found->first);
        }
    }
    cm::Command command;
    command.operation = cm::Operation::kDestroyId;
    command.id = key.second;
    manager(key.first).host.execute(command, now_ns);
    for (const Key& each : unseen) {
        if (endpoints_.contains(each)) {
            destroy(each, now_ns);
        }
    }
}

/// From now on its events go to another channel, also those that wait.
void CmClients::migrate(const Key& key, std::uint32_t channel) {
    Endpoint& endpoint = endpoints_.at(key);
    const auto from = channels_.find(std::exchange(endpoint.channel, channel));
    const auto to = channels_.find(channel);
    if (from == channels_.end() || to == channels_.end() || from == to) {
        return;
    }
    std::deque<Queued> stay;
    for (const Queued& queued : from->second.events) {
        const cm::IdHandle whose = queued.event.type == cm::EventType::kConnectRequest
                                       ? queued.event.listener
                                       : queued.event.id;
        const bool moves = queued.host == key.first && whose == key.second;
        (moves ? to->second.events : stay).push_back(queued);
    }
    from->second.events = std::move(stay);
    if (from->second.events.empty()) {
        ready_.erase(from->first);
    }
    if (!to->second.events.empty() && !to->second.busy) {
        ready_.insert(to->first);
    }
}

void CmClients::pump(std::uint32_t host, std::uint64_t now_ns) {
    Manager& of = manager(host);
    while (const auto out = of.host.poll_transmit()) {
        management_.send(of.surroundings.hca_of(out->port), out->packet, now_ns);
    }
    while (const auto event = of.host.poll_event()) {
        queue(host, *event, now_ns);
    }
}

void CmClients::queue(std::uint32_t host, const cm::Event& event, std::uint64_t now_ns) {
    const bool is_request = event.type == cm::EventType::kConnectRequest;
    const auto endpoint = endpoints_.find({host, is_request ? event.listener : event.id});
    if (endpoint == endpoints_.end()) {
        return;
    }
    const Endpoint owner = endpoint->second;
    if (is_request) {
        endpoints_[{host, event.id}] = owner;
    }
    const auto channel = channels_.find(owner.channel);
    if (channel == channels_.end()) {
        if (is_request) {
            destroy({host, event.id}, now_ns);
        }
        return;
    }
    channel->second.events.push_back({host, event});
    if (!channel->second.busy) {
        ready_.insert(channel->first);
    }
}

void CmClients::taken(int fd) {
    const auto found = channel_of_.find(fd);
    if (found == channel_of_.end()) {
        return;
    }
    Channel& channel = channels_.at(found->second);
    channel.busy = false;
    if (!channel.events.empty()) {
        ready_.insert(found->second);
    }
}

bool CmClients::handle_mad(std::uint32_t hca, const agent::Packet& packet, std::uint64_t now_ns) {
    const wire::Mad<const std::uint8_t> header(packet.mad);
    if (header.mgmt_class() != wire::MgmtClass::kCommMgmt &&
        header.transaction_id() >> 32 != cm::kQueryToken) {
        return false;
    }
    const std::uint32_t host = arena_.hcas[hca].host;
    const bool taken =
        manager(host).host.handle_mad(hca - arena_.hosts[host].hca_first, packet, now_ns);
    pump(host, now_ns);
    return taken;
}

void CmClients::run(std::uint64_t now_ns) {
    for (const auto& [host, of] : managers_) {
        if (of->host.next_timeout_ns() <= now_ns) {
            of->host.handle_timeout(now_ns);
            pump(host, now_ns);
        }
    }
}

std::uint64_t CmClients::next_timeout_ns() const {
    std::uint64_t next = UINT64_MAX;
    for (const auto& [host, of] : managers_) {
        next = std::min(next, of->host.next_timeout_ns());
    }
    return next;
}

std::string CmClients::describe() const {
    std::string text;
    for (const AddressMap::Entry& entry : addresses_.entries()) {
        const HcaRecord& hca = arena_.hcas[entry.hca];
        text += fmt::format("address {} {} {}\n", arena_.hosts[hca.host].name, hca.name,
                            cm::to_string(entry.address));
    }
    for (const auto& [host, of] : managers_) {
        for (const cm::Host::Listener& each : of->host.listeners()) {
            text += fmt::format("listener {} {} {} {}\n", arena_.hosts[host].name,
                                cm::name_of(each.space), cm::to_string(each.address),
                                cm::port_of(each.address));
        }
    }
    return text;
}

std::vector<CmClients::Shown> CmClients::endpoints() const {
    std::vector<Shown> out;
    for (const auto& [host, of] : managers_) {
        for (const cm::Host::Endpoint& each : of->host.endpoints()) {
            // One that a request made and no program has heard of yet is nobody's.
            const auto found = endpoints_.find({host, each.handle});
            if (found != endpoints_.end()) {
                out.push_back({.fd = found->second.program,
                               .host = host,
                               .hca = each.port ? of->surroundings.hca_of(*each.port) : UINT32_MAX,
                               .endpoint = each});
            }
        }
    }
    return out;
}

std::optional<CmClients::Outgoing> CmClients::poll() {
    if (ready_.empty()) {
        return std::nullopt;
    }
    const auto first = ready_.extract(ready_.begin());
    Channel& channel = channels_.at(first.value());
    const Outgoing out{channel.fd, channel.events.front().event};
    channel.events.pop_front();
    channel.busy = true;
    return out;
}

}  // namespace softib::live
