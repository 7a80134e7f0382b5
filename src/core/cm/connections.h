// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The connections of a host: the exchange of REQ, REP and RTU, REJ, MRA, DREQ and DREP (IBA vol. 1,
// 12.9). There are no alternate paths: a REP says so, and an APR refuses a LAP. Messages may be
// lost, doubled, late or forged. So each message that comes is checked against the state of the
// connection that it names, and each message that needs an answer is repeated until the answer
// comes.
//
// A consumer may end at any moment: forget() then finishes what the consumer began, so that the
// other side is told and does not wait.

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
#include "core/wire/cm/cm_mra.h"
#include "core/wire/cm/cm_rej.h"
#include "core/wire/cm/cm_rep.h"
#include "core/wire/cm/cm_req.h"

namespace softib::cm {

using wire::CommunicationId;

inline constexpr std::size_t kConnectionsMax = 65536;
inline constexpr std::uint8_t kResponseTimeout = 18;  ///< 1.07 s.
inline constexpr std::uint8_t kMaxCmRetries = 7;
inline constexpr std::uint8_t kServiceTimeout = 24;  ///< 69 s: time for a program to answer.

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
    CommunicationId remote = 0;  ///< The peer's communication ID; 0 until it is known.
    ConnectionState state{};
    bool active = false;     ///< Whether this host sent the REQ.
    bool wanted = true;      ///< Whether a consumer still wants events of the connection.
    bool confirmed = false;  ///< Whether this host has sent the RTU.
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
    std::uint8_t rnr_retry_count = 0;  ///< RNR retries of our requester, as the peer asked for.
    std::uint8_t ack_timeout = 0;
    std::uint8_t retries_left = 0;
    /// The message that is repeated until its answer comes, or when the peer repeats its own.
    wire::MadBytes last{};
};

struct ConnectRequest {
    Route route{};
    std::uint64_t service_id = 0;
    QpType type = QpType::kRc;
    Guid local_ca{};
    std::uint8_t ack_timeout = 0;  ///< Local ACK timeout; 0 to compute it from the path.
    ConnectionParameters parameters{};
    std::array<std::uint8_t, 92> private_data{};
};

struct ConnectionEvent {
    enum Kind : std::uint8_t {
        kRequest,      ///< A REQ came: `request`. Call accept(), reject() or forget().
        kResponse,     ///< A REP came. Call confirm(), reject() or forget().
        kEstablished,  ///< An RTU came.
        kRejected,
        kUnreachable,  ///< No answer came to our REQ or REP.
        kDisconnected,
        kTimewaitExit,  ///< The time wait is over, and the communication ID free again.
    };
    Kind kind{};
    CommunicationId connection = 0;
    bool timed_out = false;  ///< With kDisconnected: whether no answer came to our DREQ.
    wire::RejectReason reason{};
    std::uint32_t port = 0;
    ConnectionParameters parameters{};  ///< The parameters that the other side sent.
    wire::CmReq request{};
};

class Connections {
  public:
    explicit Connections(std::uint64_t seed);

    const Connection* find(CommunicationId id) const;
    std::size_t size() const { return connections_.size(); }

    /// Sends a REQ. Returns the communication ID, or 0 if there are too many connections.
    CommunicationId connect(const ConnectRequest& request, std::uint64_t now_ns);
    /// Sends a REP. Returns 0, or EINVAL if no REQ waits for it.
    int accept(CommunicationId id, const ConnectionParameters& parameters, Guid local_ca,
               std::uint64_t now_ns);
    /// Sends an RTU. Returns 0, or EINVAL if no REP waits for it.
    int confirm(CommunicationId id);
    /// Sends an MRA, because the answer to a REQ or REP must wait for a program.
    void delay(CommunicationId id);
    /// Sends a REJ. Returns 0, or EINVAL if the state of the connection does not allow it.
    int reject(CommunicationId id, wire::RejectReason reason,
               std::span<const std::uint8_t> private_data);
    /// Sends a DREQ. Returns 0, or EINVAL if there is no connection to end.
    int disconnect(CommunicationId id, std::uint64_t now_ns);
    /// Establishes a connection whose first data came before the RTU. Returns 0, or EINVAL if it
    /// does not wait for an RTU.
    int notify_established(CommunicationId id);
    /// Ends a connection that its consumer does not want any more, by REJ or DREQ as its state
    /// demands. No event of it follows.
    void forget(CommunicationId id, std::uint64_t now_ns);

    void handle_mad(std::uint32_t port, const mad::Packet& packet, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return deadlines_.next_ns(); }
    std::optional<Outgoing> poll_transmit();
    std::optional<ConnectionEvent> poll_event();

  private:
    using Peer = std::pair<Guid, std::uint32_t>;

    Connection* get(CommunicationId id);
    /// Returns the connection that both communication IDs of a message name; nullptr if there is
    /// none.
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
    /// Connections by the peer's CA GUID and communication ID, to find a REQ that came again.
    std::map<Peer, CommunicationId> by_request_;
    /// Established connections by the peer's CA GUID and QPN, to find a stale one.
    std::map<Peer, CommunicationId> by_qpn_;
    Deadlines deadlines_;
    std::deque<Outgoing> out_;
    std::deque<ConnectionEvent> events_;
};

}  // namespace softib::cm
