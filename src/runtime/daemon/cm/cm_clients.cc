// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/cm/cm_clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/cm/address.h"
#include "core/wire/mad/mad.h"

namespace softib::daemon {

CmClients::CmClients(const shm::Arena& arena, Management& management, AddressMap addresses)
    : arena_(arena),
      management_(management),
      service_(management.add_host_service({{.mgmt_class = wire::MgmtClass::kCommMgmt,
                                             .method = wire::Method::kSend,
                                             .class_version = wire::kCmClassVersion}})),
      addresses_(std::move(addresses)) {}

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
    if (const auto name = channel_of_.extract(fd)) {
        // Events of an endpoint that has moved away go to its new channel.
        auto channel = channels_.extract(name.mapped());
        ready_.erase(name.mapped());
        put_back(channel.mapped());
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
        reply.status = migrate(key, command.channel);
    } else if (command.operation == cm::Operation::kPutBack) {
        reply.status = put_back(fd, command.channel);
    } else {
        reply = manager(host).host.execute(command, now_ns);
    }
    pump(host, now_ns);
    return reply;
}

/// Destroys an endpoint with the events queued for it. If it is a listener, the connections of its
/// connect requests that the program has not seen are destroyed too.
void CmClients::destroy(const Key& key, std::uint64_t now_ns) {
    const auto endpoint = endpoints_.extract(key);
    std::vector<Key> unseen;
    const auto is_gone = [&](const Queued& queued) {
        const bool of_listener = queued.event.type == cm::EventType::kConnectRequest &&
                                 queued.event.listener == key.second;
        if (queued.host == key.first && of_listener) {
            unseen.emplace_back(key.first, queued.event.id);
        }
        return queued.host == key.first && (of_listener || queued.event.id == key.second);
    };
    if (const auto found = channels_.find(endpoint.mapped().channel); found != channels_.end()) {
        std::erase_if(found->second.events, is_gone);
        if (found->second.events.empty()) {
            ready_.erase(found->first);
        }
    }
    if (const auto left = channels_.find(endpoint.mapped().leaving); left != channels_.end()) {
        std::erase_if(left->second.behind, is_gone);
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

// The endpoint's events, also those that wait, go to another channel from now on. The program says
// by CmNext or kPutBack whether it took the one that is under way.
int CmClients::migrate(const Key& key, std::uint32_t channel) {
    if (!channels_.contains(channel)) {
        return EINVAL;
    }
    Endpoint& endpoint = endpoints_.at(key);
    const auto from = channels_.find(std::exchange(endpoint.channel, channel));
    if (from == channels_.end() || from->first == channel) {
        return 0;
    }
    Channel& old = from->second;
    if (old.under_way && owner_of(*old.under_way) == key) {
        endpoint.leaving = from->first;
    }
    std::deque<Queued> stay;
    for (const Queued& queued : std::exchange(old.events, {})) {
        if (owner_of(queued) != key) {
            stay.push_back(queued);
        } else if (endpoint.leaving != 0) {
            old.behind.push_back(queued);
        } else {
            append(channel, queued);
        }
    }
    old.events = std::move(stay);
    if (old.events.empty()) {
        ready_.erase(from->first);
    }
    return 0;
}

void CmClients::append(std::uint32_t name, const Queued& queued) {
    Channel& channel = channels_.at(name);
    channel.events.push_back(queued);
    if (queued.event.type == cm::EventType::kConnectRequest) {
        // The endpoint of a connect request has the channel on which the program gets the request.
        if (const auto fresh = endpoints_.find({queued.host, queued.event.id});
            fresh != endpoints_.end()) {
            fresh->second.channel = name;
        }
    }
    if (!channel.under_way) {
        ready_.insert(name);
    }
}

void CmClients::follow(Channel& channel) {
    if (const auto owner = endpoints_.find(owner_of(*channel.under_way));
        owner != endpoints_.end()) {
        owner->second.leaving = 0;
    }
    channel.under_way.reset();
    for (const Queued& queued : std::exchange(channel.behind, {})) {
        const auto owner = endpoints_.find(owner_of(queued));
        if (owner != endpoints_.end() && channels_.contains(owner->second.channel)) {
            append(owner->second.channel, queued);
        }
    }
}

void CmClients::put_back(Channel& channel) {
    if (!channel.under_way) {
        return;
    }
    // It is the oldest event of its endpoint.
    channel.behind.push_front(*channel.under_way);
    follow(channel);
}

int CmClients::put_back(int fd, std::uint32_t name) {
    const auto channel = channels_.find(name);
    if (channel == channels_.end() || !channel->second.under_way) {
        return EINVAL;
    }
    const auto owner = endpoints_.find(owner_of(*channel->second.under_way));
    if (owner != endpoints_.end() && owner->second.program != fd) {
        return EINVAL;
    }
    const bool stays = owner != endpoints_.end() && owner->second.channel == name;
    const Queued event = *channel->second.under_way;
    if (stays) {
        channel->second.under_way.reset();
        channel->second.events.push_front(event);
    } else {
        put_back(channel->second);
    }
    if (!channel->second.events.empty()) {
        ready_.insert(name);
    }
    return 0;
}

void CmClients::pump(std::uint32_t host, std::uint64_t now_ns) {
    Manager& of = manager(host);
    while (auto out = of.host.poll_transmit()) {
        management_.dispatcher().stamp(service_, out->packet.mad);
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
        endpoints_[{host, event.id}] = {.program = owner.program, .channel = owner.channel};
    }
    const auto channel = channels_.find(owner.channel);
    if (channel == channels_.end()) {
        if (is_request) {
            destroy({host, event.id}, now_ns);
        }
        return;
    }
    if (const auto left = channels_.find(owner.leaving); left != channels_.end()) {
        left->second.behind.push_back({host, event});
    } else {
        append(channel->first, {host, event});
    }
}

void CmClients::taken(int fd) {
    const auto found = channel_of_.find(fd);
    if (found == channel_of_.end()) {
        return;
    }
    Channel& channel = channels_.at(found->second);
    if (!channel.under_way) {
        return;
    }
    follow(channel);
    if (!channel.events.empty()) {
        ready_.insert(found->second);
    }
}

void CmClients::handle_mad(std::uint32_t hca, const mad::Packet& packet, std::uint64_t now_ns) {
    const std::uint32_t host = arena_.hcas[hca].host;
    manager(host).host.handle_mad(hca - arena_.hosts[host].hca_first, packet, now_ns);
    pump(host, now_ns);
}

void CmClients::run(std::uint64_t now_ns) {
    while (const auto arrived = management_.poll_delivery(service_)) {
        handle_mad(arrived->hca, arrived->packet, now_ns);
    }
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
        const shm::HcaRecord& hca = arena_.hcas[entry.hca];
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
            // An endpoint that a connect request made has no program until its event is queued.
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
    channel.under_way = channel.events.front();
    channel.events.pop_front();
    return Outgoing{channel.fd, channel.under_way->event};
}

}  // namespace softib::daemon
