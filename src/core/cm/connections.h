// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The connections of a host: the exchange of REQ, REP and RTU, REJ, MRA, DREQ and DREP (IBA vol. 1,
// 12.9). There are no alternate paths: a REP says so, and an APR refuses a LAP. Messages may be
// lost, doubled, late or forged: each is compared with the state of the connection that it names,
// and repeated by timers until it is answered.
//
// A consumer may end at any moment: forget() finishes what it began, so that the other side is told
// and does not wait.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "core/base/prng.h"
#include "core/cm/commands.h"
#include "core/cm/deadlines.h"
#include "core/cm/route.h"
#include "core/mad/packet.h"
#include "core/wire/cm_mra.h"
#include "core/wire/cm_rej.h"
#include "core/wire/cm_rep.h"
#include "core/wire/cm_req.h"

namespace softib::cm {

using wire::CommunicationId;

inline constexpr std::size_t kConnectionsMax = 65536;
inline constexpr std::uint8_t kResponseTimeout = 18;  ///< 1.07 s.
inline constexpr std::uint8_t kMaxCmRetries = 7;
inline constexpr std::uint8_t kServiceTimeout = 24;  ///< 69 s: a program may take its time.

enum class ConnectionState : std::uint8_t {
    kReqSent,
    kReqReceived,
    kRepSent,
    kRepReceived,
    kEstablished,
    kDreqSent,
    kTimewait,
};

struct Connection {
    CommunicationId local = 0;
    CommunicationId remote = 0;  ///< 0: not known yet.
    ConnectionState state{};
    bool active = false;     ///< We asked.
    bool wanted = true;      ///< A consumer still wants its events.
    bool confirmed = false;  ///< Our RTU went out.
    QpType type = QpType::kRc;
    Route route{};
    std::uint64_t transaction = 0;
    std::uint64_t service_id = 0;
    Guid local_ca{};
    Guid remote_ca{};
    Qpn local_qpn{};
    Qpn remote_qpn{};
    Psn local_psn{};
    Psn remote_psn{};
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry_count = 0;  ///< For our requester: what the other side said.
    std::uint8_t ack_timeout = 0;
    std::uint8_t retries_left = 0;
    wire::MadBytes
        last{};  ///< What is repeated until it is answered, or when it is asked for again.
};

struct ConnectRequest {
    Route route{};
    std::uint64_t service_id = 0;
    QpType type = QpType::kRc;
    Guid local_ca{};
    std::uint8_t ack_timeout = 0;  ///< 0: from the path.
    ConnectionParameters parameters{};
    std::array<std::uint8_t, 92> private_data{};
};

struct ConnectionEvent {
    enum Kind : std::uint8_t {
        kRequest,      ///< A REQ; `request` is it. accept(), reject() or forget() follows.
        kResponse,     ///< A REP. confirm(), reject() or forget() follows.
        kEstablished,  ///< An RTU.
        kRejected,
        kUnreachable,  ///< Nobody answered our REQ or REP.
        kDisconnected,
        kTimewaitExit,  ///< The connection's number is free again.
    };
    Kind kind{};
    CommunicationId connection = 0;
    bool timed_out = false;  ///< With kDisconnected: nobody answered.
    wire::RejectReason reason{};
    std::uint32_t port = 0;
    ConnectionParameters parameters{};  ///< As the other side sent them.
    wire::CmReq request{};
};

class Connections {
  public:
    explicit Connections(std::uint64_t seed);

    const Connection* find(CommunicationId id) const;
    std::size_t size() const { return connections_.size(); }

    /// Sends a REQ. Returns the connection's number, or 0 if there are too many.
    CommunicationId connect(const ConnectRequest& request, std::uint64_t now_ns);
    /// The others return 0 or EINVAL, where the state does not allow it.
    int accept(CommunicationId id, const ConnectionParameters& parameters, Guid local_ca,
               std::uint64_t now_ns);
    int confirm(CommunicationId id);
    /// "Wait": the answer depends on a program.
    void delay(CommunicationId id);
    int reject(CommunicationId id, wire::RejectReason reason,
               std::span<const std::uint8_t> private_data);
    int disconnect(CommunicationId id, std::uint64_t now_ns);
    /// Data came before the RTU did.
    int notify_established(CommunicationId id);
    /// No event follows. Ends it by the rules, if it is one.
    void forget(CommunicationId id, std::uint64_t now_ns);

    void handle_mad(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return deadlines_.next_ns(); }
    std::optional<Outgoing> poll_transmit();
    std::optional<ConnectionEvent> poll_event();

  private:
    using Peer = std::pair<Guid, std::uint32_t>;

    Connection* get(CommunicationId id);
    /// The connection that both numbers of a message name.
    Connection* match(CommunicationId ours, CommunicationId theirs);
    Connection* add();
    void erase(Connection& connection);
    void set_timer(Connection& connection, std::uint64_t wait_ns, std::uint64_t now_ns);
    void send(const Connection& connection, const wire::MadBytes& mad);
    void send_until_answered(Connection& connection, const wire::MadBytes& mad,
                             std::uint64_t now_ns);
    void send_rej(const Connection& connection, wire::RejectReason reason,
                  std::span<const std::uint8_t> private_data);
    void send_dreq(Connection& connection, std::uint64_t now_ns);
    void send_drep(const Connection& connection);
    void refuse(std::uint32_t port, const mad::Packet& packet, CommunicationId theirs,
                wire::RejectedMessage what, wire::RejectReason reason);
    void establish(Connection& connection);
    void enter_timewait(Connection& connection, std::uint64_t now_ns, bool timed_out);
    void report(const Connection& connection, ConnectionEvent event);

    void handle_req(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns);
    void handle_rep(std::uint32_t port, const mad::Packet& packet);
    void handle_rtu(const mad::Packet& packet);
    void handle_rej(const mad::Packet& packet, std::uint64_t now_ns);
    void handle_mra(const mad::Packet& packet, std::uint64_t now_ns);
    void handle_dreq(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns);
    void handle_drep(const mad::Packet& packet, std::uint64_t now_ns);
    void handle_lap(std::uint32_t port, const mad::Packet& packet);

    Prng prng_;
    CommunicationId last_ = 0;
    std::uint64_t last_transaction_ = 0;
    std::map<CommunicationId, Connection> connections_;
    std::map<Peer, CommunicationId> by_request_;  ///< By their number: finds a REQ's double.
    std::map<Peer, CommunicationId> by_qpn_;      ///< Established ones: finds a stale one.
    Deadlines deadlines_;
    std::deque<Outgoing> out_;
    std::deque<ConnectionEvent> events_;
};

}  // namespace softib::cm
