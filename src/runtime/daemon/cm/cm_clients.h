// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Programs that use the CMs of their hosts. A program has one connection for commands; the
// endpoints (rdma_cm ids) that it makes end when that connection closes. Each of its event channels
// is another connection, on which one event at a time is under way. Events that the program has not
// taken stay here, so that they can be removed when their endpoint is destroyed. An endpoint that
// moves to another channel takes its events along. If one of them is under way, the others wait
// until the program says whether it took that one.

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

namespace softib::daemon {

class CmClients {
  public:
    CmClients(const shm::Arena& arena, Management& management, AddressMap addresses);

    /// Opens a connection for the commands of a program on this host.
    void open(int fd, std::uint32_t host);
    /// Opens a connection for events. Returns the channel's name.
    std::uint32_t open_channel(int fd);
    bool is_open(int fd) const { return programs_.contains(fd); }
    void close(int fd, std::uint64_t now_ns);

    /// Executes a command of a program.
    cm::Reply execute(int fd, const cm::Command& command, std::uint64_t now_ns);
    /// Notes that the program has taken the event that was sent on this channel.
    void taken(int fd);

    /// Takes MADs that arrived, and does what is due: repeats requests or gives them up.
    void run(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;

    /// Returns lines of text: "address HOST DEVICE IP" for each address that the user gave, and
    /// "listener HOST SPACE IP PORT" for each listener.
    std::string describe() const;

    /// An endpoint of a program, for reports.
    struct Shown {
        int fd = -1;  ///< The connection of its program.
        std::uint32_t host = 0;
        std::uint32_t hca = UINT32_MAX;  ///< UINT32_MAX: it is bound to none.
        cm::Host::Endpoint endpoint{};
    };
    std::vector<Shown> endpoints() const;

    /// An event for the channel with this connection.
    struct Outgoing {
        int fd;
        cm::Event event;
    };
    /// Returns the next event to send, or std::nullopt if there is none.
    std::optional<Outgoing> poll();

  private:
    /// The CM of a host.
    struct Manager {
        Manager(const shm::Arena& arena, const AddressMap& addresses, std::uint32_t index)
            : surroundings(arena, addresses, index),
              host(surroundings, arena.header->instance + index) {}
        CmSurroundings surroundings;
        cm::Host host;
    };
    using Key = std::pair<std::uint32_t, cm::IdHandle>;  ///< Host and endpoint.
    struct Endpoint {
        int program = -1;
        std::uint32_t channel = 0;
        /// The old channel, while an event of this endpoint is under way there; else 0.
        std::uint32_t leaving = 0;
    };
    struct Queued {
        std::uint32_t host;
        cm::Event event;
    };
    struct Channel {
        int fd = -1;
        std::optional<Queued> under_way;
        std::deque<Queued> behind;  ///< Further events of an endpoint that leaves this channel.
        std::deque<Queued> events;  ///< Events that wait to be sent.
    };

    Manager& manager(std::uint32_t host);
    void handle_mad(std::uint32_t hca, const mad::Packet& packet, std::uint64_t now_ns);
    /// Sends the MADs of a host's CM, and queues its events.
    void pump(std::uint32_t host, std::uint64_t now_ns);
    void queue(std::uint32_t host, const cm::Event& event, std::uint64_t now_ns);
    /// Appends an event to a channel.
    void append(std::uint32_t name, const Queued& queued);
    /// Ends the event under way. Those in `behind` go to the new channel of their endpoint.
    void follow(Channel& channel);
    /// Sends the event under way, which the program has not seen, to its endpoint's new channel,
    /// and those in `behind` after it.
    void put_back(Channel& channel);
    void destroy(const Key& key, std::uint64_t now_ns);
    /// Moves an endpoint to another channel. Returns 0 or EINVAL.
    int migrate(const Key& key, std::uint32_t channel);
    /// Executes kPutBack: the program has not seen the event under way on this channel. Returns 0
    /// or EINVAL.
    int put_back(int fd, std::uint32_t channel);
    /// Returns the endpoint that an event belongs to; for a connect request that is its listener.
    static Key owner_of(const Queued& queued) {
        const bool is_request = queued.event.type == cm::EventType::kConnectRequest;
        return {queued.host, is_request ? queued.event.listener : queued.event.id};
    }

    const shm::Arena& arena_;
    Management& management_;
    agent::MadToken service_;
    AddressMap addresses_;
    std::map<std::uint32_t, std::unique_ptr<Manager>> managers_;  ///< By host, made at first use.
    std::map<int, std::uint32_t> programs_;  ///< Hosts of programs, by connection.
    std::map<int, std::uint32_t> channel_of_;
    std::map<std::uint32_t, Channel> channels_;
    std::set<std::uint32_t> ready_;  ///< Channels with an event to send.
    std::map<Key, Endpoint> endpoints_;
    std::uint32_t last_channel_ = 0;
};

}  // namespace softib::daemon
