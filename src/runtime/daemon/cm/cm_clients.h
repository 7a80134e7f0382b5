// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Programs that use the connection managers of their hosts. A program has one connection for
// commands, and the endpoints that it makes end with it; each of its event channels is a connection
// too, on which one event at a time is under way: what the program has not taken stays here, and
// can be taken back when an endpoint is destroyed. An endpoint that moves to another channel takes
// its events along; those behind the one under way follow it once it is known who has that one.

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/cm/host.h"
#include "runtime/daemon/cm/cm_surroundings.h"
#include "runtime/daemon/management.h"
#include "runtime/shm/arena.h"

namespace softib::live {

class CmClients {
  public:
    CmClients(const Arena& arena, Management& management, AddressMap addresses);

    /// A connection for the commands of a program on this host.
    void open(int fd, std::uint32_t host);
    /// A connection for events. Returns its name.
    std::uint32_t open_channel(int fd);
    bool is_open(int fd) const { return programs_.contains(fd); }
    void close(int fd, std::uint64_t now_ns);

    cm::Reply execute(int fd, const cm::Command& command, std::uint64_t now_ns);
    /// The program has taken the event that was sent on this channel.
    void taken(int fd);

    /// Takes what arrived, repeats and gives up what is due.
    void run(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;

    /// Lines: "address HOST DEVICE IP" for those that the user gave, "listener HOST SPACE IP PORT".
    std::string describe() const;

    /// An endpoint of a program.
    struct Shown {
        int fd = -1;  ///< Its program's connection.
        std::uint32_t host = 0;
        std::uint32_t hca = UINT32_MAX;  ///< UINT32_MAX: bound to none.
        cm::Host::Endpoint endpoint{};
    };
    std::vector<Shown> endpoints() const;

    struct Outgoing {
        int fd;
        cm::Event event;
    };
    std::optional<Outgoing> poll();

  private:
    struct Manager {
        Manager(const Arena& arena, const AddressMap& addresses, std::uint32_t index)
            : surroundings(arena, addresses, index),
              host(surroundings, arena.header->instance + index) {}
        CmSurroundings surroundings;
        cm::Host host;
    };
    using Key = std::pair<std::uint32_t, cm::IdHandle>;  ///< Host and endpoint.
    struct Endpoint {
        int program = -1;
        std::uint32_t channel = 0;
        std::uint32_t leaving = 0;  ///< The channel with an event of it under way; 0: none.
    };
    struct Queued {
        std::uint32_t host;
        cm::Event event;
    };
    struct Channel {
        int fd = -1;
        std::optional<Queued> under_way;
        std::deque<Queued> behind;  ///< Of the endpoint that leaves: they follow that event.
        std::deque<Queued> events;
    };

    Manager& manager(std::uint32_t host);
    void handle_mad(std::uint32_t hca, const mad::Packet& packet, std::uint64_t now_ns);
    void pump(std::uint32_t host, std::uint64_t now_ns);
    void queue(std::uint32_t host, const cm::Event& event, std::uint64_t now_ns);
    void append(std::uint32_t name, const Queued& queued);
    /// The event under way is settled: what waited behind it goes to its endpoint's channel.
    void follow(Channel& channel);
    /// The program has not seen the event under way: it goes to its endpoint's channel again.
    void put_back(Channel& channel);
    void destroy(const Key& key, std::uint64_t now_ns);
    int migrate(const Key& key, std::uint32_t channel);
    int put_back(int fd, std::uint32_t channel);
    /// Whose event it is: a request is its listener's.
    static Key owner_of(const Queued& queued) {
        const bool is_request = queued.event.type == cm::EventType::kConnectRequest;
        return {queued.host, is_request ? queued.event.listener : queued.event.id};
    }

    const Arena& arena_;
    Management& management_;
    agent::MadToken service_;
    AddressMap addresses_;
    std::map<std::uint32_t, std::unique_ptr<Manager>> managers_;  ///< By host, made when wanted.
    std::map<int, std::uint32_t> programs_;                       ///< Their hosts, by connection.
    std::map<int, std::uint32_t> channel_of_;
    std::map<std::uint32_t, Channel> channels_;
    std::set<std::uint32_t> ready_;  ///< Channels with an event to send.
    std::map<Key, Endpoint> endpoints_;
    std::uint32_t last_channel_ = 0;
};

}  // namespace softib::live
