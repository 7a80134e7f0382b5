// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The connection manager of one host, without input and output: programs' commands, MADs and time
// come in; MADs, events for programs and the next deadline go out. It plays the part of the kernel
// in rdma_cm: endpoints with addresses and ports, routes from the SA, connections, datagram
// services and multicast groups.
//
// A program may send any command: it is checked against the endpoint's state and refused with an
// errno value. When a program ends, the caller that passed its commands on destroys its endpoints.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "core/cm/commands.h"
#include "core/cm/connections.h"
#include "core/cm/port_table.h"
#include "core/cm/route.h"
#include "core/cm/sa_client.h"
#include "core/cm/sidr.h"
#include "core/cm/surroundings.h"
#include "core/mad/packet.h"

namespace softib::cm {

inline constexpr std::size_t kIdsMax = 65536;
inline constexpr std::size_t kJoinsMax = 65536;
inline constexpr std::uint32_t kBacklogMax = 1024;
/// How long a request may wait for its listener. Some programs tell a peer to connect just before
/// they listen. Between two machines the request then always comes later; on one machine it may
/// come earlier.
inline constexpr std::uint64_t kEarlyNs = 100'000'000;
inline constexpr std::size_t kEarlyMax = 1024;

class Host {
  public:
    /// `surroundings` must outlive this object.
    Host(const Surroundings& surroundings, std::uint64_t seed);

    /// Carries out a program's command.
    Reply execute(const Command& command, std::uint64_t now_ns);

    /// Takes a MAD that came to a port of this host; drops one that is not for this manager.
    void handle_mad(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    std::optional<Outgoing> poll_transmit();
    std::optional<Event> poll_event();

    std::size_t ids() const { return ids_.size(); }
    struct Listener {
        PortSpace space{};
        Address address{};
    };
    std::vector<Listener> listeners() const;
    /// An endpoint as tools list it (`rdma resource show cm_id`).
    struct Endpoint {
        /// The states of an rdma_cm_id, with Linux's numbers.
        enum State : std::uint8_t {
            kIdle = 0,
            kAddrResolved = 2,
            kRouteQuery = 3,
            kRouteResolved = 4,
            kConnect = 5,
            kDisconnect = 6,
            kAddrBound = 7,
            kListen = 8,
        };
        IdHandle handle = 0;
        State state = kIdle;
        PortSpace space{};
        QpType type{};
        std::optional<std::uint32_t> port{};  ///< Its port of this host; std::nullopt if unbound.
        Qpn qpn{};                            ///< Its queue pair; 0 if not known.
        Address source{};
        Address destination{};
    };
    std::vector<Endpoint> endpoints() const;
    const Connections& connections() const { return connections_; }

  private:
    enum class State : std::uint8_t {
        kIdle,
        kBound,
        kAddrResolved,
        kResolvingRoute,
        kRouteResolved,
        kConnecting,
        kConnected,
        kOver,  ///< The connection has ended or could not be made.
        kListening,
        kRequested,  ///< A peer's request waits for the program's answer.
    };
    struct Id {
        IdHandle handle = 0;
        State state = State::kIdle;
        PortSpace space{};  ///< The port space that the program chose.
        QpType type{};
        bool reuse_addr = false;
        bool af_only = false;
        bool has_port = false;    ///< Whether it is bound to a port of this host.
        bool has_number = false;  ///< Whether it holds a port number in ports_.
        bool has_path = false;
        std::uint8_t ack_timeout = 0;
        std::uint32_t backlog = 0;
        std::uint32_t waiting = 0;  ///< Requests at a listener that the program has yet to answer.
        IdHandle listener = 0;      ///< The listener in whose `waiting` this endpoint counts.
        PortSpace bound_space{};
        Address source{};
        Address destination{};
        Gid destination_gid{};
        QKey qkey = kUdpQKey;
        Route route{};  ///< Its `port` is the port of this host that the endpoint is bound to.
        CommunicationId connection = 0;
        SidrId lookup = 0;
        QueryId query = 0;
    };
    struct Join {
        IdHandle id = 0;
        std::uint32_t port = 0;
        std::uint8_t join_state = 0;
        QueryId query = 0;
        bool joined = false;
        wire::McMemberRecord member{};
    };

    /// A request that came before its listener, and how long it may wait.
    struct Early {
        std::uint64_t until_ns = 0;
        std::variant<ConnectionEvent, SidrEvent> event;
    };

    // host.cc: endpoints.
    static Endpoint::State state_of(const Id& id);
    Id* get(IdHandle handle);
    Id* add(PortSpace space, QpType type);
    IdInfo info_of(const Id& id) const;
    std::optional<std::uint32_t> own_port(const Gid& gid) const;
    std::optional<std::uint32_t> default_port() const;
    void create(const Command& command, Reply& reply);
    void destroy(Id& id, std::uint64_t now_ns);
    int bind(Id& id, const Address& address);
    int set_option(Id& id, const Command& command);
    int query_attributes(const Id& id, QpState state, QpAttributes& out) const;
    void use_port(Id& id, std::uint32_t port);
    void report(const Id& id, EventType type, int status);
    void report(Event event);
    void pump(std::uint64_t now_ns);

    // host_routes.cc: addresses and paths.
    bool is_in_subnet(const Address& address) const;
    int resolve_addr(Id& id, const Command& command);
    /// Where an address is: its GID, the port of ours that leads there, and whether it is our own.
    struct Resolved {
        std::optional<Gid> gid;
        std::optional<std::uint32_t> port;
        bool to_self = false;
    };
    Resolved find_destination(const Id& id, const Address& destination) const;
    /// Binds an id to an address of ours and a port number that is free. Returns an errno value.
    int bind_any_number(Id& id, Address source);
    int resolve_route(Id& id, const Command& command, std::uint64_t now_ns);
    int set_route(Id& id, const Command& command);
    void take_path(Id& id, const SaAnswer& answer);
    /// Returns the address by which other hosts know a port of ours.
    Address own_address(Family family, std::uint32_t port) const;
    PKey default_pkey(std::uint32_t port) const;

    // host_connect.cc: connections and datagram services.
    int listen(Id& id, std::uint32_t backlog, std::uint64_t now_ns);
    int connect(Id& id, const ConnectionParameters& parameters, std::uint64_t now_ns);
    int ask_service(Id& id, const ConnectionParameters& parameters, std::uint64_t now_ns);
    int accept(Id& id, const ConnectionParameters& parameters, std::uint64_t now_ns);
    int reject(Id& id, const Command& command, std::uint64_t now_ns);
    int disconnect(Id& id, std::uint64_t now_ns);
    int notify(Id& id);
    void answered(Id& id);
    Id* find_listener(std::uint64_t service_id, std::uint32_t port,
                      const std::optional<struct IpHeader>& header);
    Id* welcome(Id& listener, const Route& route, std::uint64_t service_id,
                const std::optional<struct IpHeader>& header);
    void take_event(const ConnectionEvent& event, std::uint64_t now_ns);
    void take_request(const ConnectionEvent& event, std::uint64_t until_ns, std::uint64_t now_ns);
    void take_event(const SidrEvent& event, std::uint64_t now_ns);
    void take_lookup(const SidrEvent& event, std::uint64_t until_ns, std::uint64_t now_ns);
    bool wait_for_listener(const Early& early);
    void try_early(std::uint64_t now_ns);

    // host_multicast.cc
    int join(const Id& id, const Command& command, Reply& reply, std::uint64_t now_ns);
    int leave(IdHandle join, const Id& id, std::uint64_t now_ns);
    void leave(std::map<IdHandle, Join>::iterator join, std::uint64_t now_ns);
    void take_member(IdHandle handle, const SaAnswer& answer);

    const Surroundings& surroundings_;
    PortTable ports_;
    Connections connections_;
    Sidr sidr_;
    SaClient sa_;
    IdHandle last_id_ = 0;
    IdHandle last_join_ = 0;
    std::map<IdHandle, Id> ids_;
    std::map<IdHandle, Join> joins_;
    std::map<CommunicationId, IdHandle> by_connection_;
    std::map<SidrId, IdHandle> by_lookup_;
    std::map<QueryId, IdHandle> by_query_;
    std::map<QueryId, IdHandle> by_join_query_;
    std::deque<Early> early_;
    std::deque<Event> events_;
};

/// Returns a path with the fields of an address handle.
Destination destination_of(const Route& route, const LocalPort& port);

}  // namespace softib::cm
