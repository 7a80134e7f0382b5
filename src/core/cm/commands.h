// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The commands of a program to the connection manager of its host, and the manager's replies and
// events: plain structures that travel as bytes. Numbers are in host order, except in a Gid. What
// connection managers say to each other is in core/wire/cm_*.h.

#include <array>
#include <cstdint>
#include <type_traits>

#include "core/base/ids.h"

namespace softib::cm {

/// The handle by which a program names one of its endpoints (an rdma_cm_id). 0 names none.
using IdHandle = std::uint32_t;

inline constexpr std::size_t kPrivateDataMax = 256;
inline constexpr std::size_t kPathRecordBytes = 64;
inline constexpr QKey kUdpQKey{0x01234567};

enum class Family : std::uint16_t { kNone = 0, kIp4 = 2, kIp6 = 10, kIb = 27 };

/// The content of a sockaddr_in, sockaddr_in6 or sockaddr_ib.
struct Address {
    Family family = Family::kNone;
    std::uint16_t port = 0;  ///< Port number of an IP address.
    PKey pkey{};             ///< sib_pkey.
    std::uint16_t reserved = 0;
    std::uint32_t scope = 0;         ///< sin6_scope_id or sib_scope_id.
    std::uint32_t flow = 0;          ///< sin6_flowinfo or sib_flowinfo.
    Gid bytes{};                     ///< The address itself; IPv4 uses the first four bytes.
    std::uint64_t service_id = 0;    ///< sib_sid.
    std::uint64_t service_mask = 0;  ///< sib_sid_mask.
    friend bool operator==(const Address&, const Address&) = default;
};

enum class PortSpace : std::uint16_t {
    kIpoib = 0x0002,
    kTcp = 0x0106,
    kUdp = 0x0111,
    kIb = 0x013F
};

/// The numbers of ibv_qp_type.
enum class QpType : std::uint8_t { kRc = 2, kUc = 3, kUd = 4, kXrcSend = 9, kXrcRecv = 10 };

enum class Operation : std::uint32_t {
    kCreateId = 1,
    kDestroyId,
    kBind,
    kResolveAddr,
    kResolveRoute,
    kSetRoute,
    kQuery,
    kListen,
    kConnect,
    kAccept,
    kReject,
    kDisconnect,
    kNotify,
    kQpAttr,
    kSetOption,
    kJoin,
    kLeave,
    // The caller of a Host, which passes events to programs, does these: a Host knows no channels.
    kMigrate,  ///< Moves an endpoint to another event channel.
    kPutBack,  ///< The program has not seen the event that it took from `channel`; send it again.
};

enum class IdOption : std::uint32_t { kTos = 0, kReuseAddr = 1, kAfOnly = 2, kAckTimeout = 3 };

/// Enhanced connection establishment (ECE): options of an HCA's vendor.
struct Ece {
    std::uint32_t vendor_id = 0;  ///< OUI of the vendor, 24 bits; 0 if there is none.
    std::uint32_t options = 0;
    friend bool operator==(const Ece&, const Ece&) = default;
};

/// The parameters of a connection that each end sends to the other (rdma_conn_param).
struct ConnectionParameters {
    Ece ece{};
    Qpn qpn{};
    QKey qkey{};
    std::uint8_t srq = 0;
    std::uint8_t responder_resources = 0;
    std::uint8_t initiator_depth = 0;
    std::uint8_t flow_control = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry_count = 0;
    std::uint16_t private_data_bytes = 0;
    std::array<std::uint8_t, kPrivateDataMax> private_data{};
};

/// A command. Which fields count depends on its operation.
struct Command {
    Operation operation{};
    IdHandle id = 0;
    std::uint32_t channel = 0;  ///< Event channel for kCreateId, kMigrate and kPutBack.
    PortSpace port_space{};
    QpType qp_type{};
    std::uint8_t reason = 0;  ///< REJ reason for kReject; 0 for "consumer reject".
    std::uint32_t timeout_ms = 0;
    /// Backlog for kListen, state for kQpAttr, value for kSetOption, handle of the join for kLeave.
    std::uint32_t value = 0;
    std::uint32_t option = 0;  ///< IdOption for kSetOption; 1 for kJoin as a send-only member.
    Address source{};
    Address destination{};
    ConnectionParameters parameters{};
    std::array<std::uint8_t, kPathRecordBytes> path{};  ///< PathRecord for kSetRoute.
};

/// The device, addresses and path of an endpoint.
struct IdInfo {
    Guid node_guid{};  ///< Node GUID of its HCA; 0 if the endpoint is bound to none.
    std::uint8_t port_num = 0;
    std::uint8_t has_path = 0;
    PKey pkey{};
    Gid source_gid{};
    Gid destination_gid{};
    Address source{};
    Address destination{};
    std::array<std::uint8_t, kPathRecordBytes> path{};
};

/// The destination of packets, with the fields of an address handle (ibv_ah_attr).
struct Destination {
    Lid dlid{};
    std::uint8_t sl = 0;
    std::uint8_t path_bits = 0;
    std::uint8_t static_rate = 0;
    std::uint8_t is_global = 0;
    std::uint8_t hop_limit = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t port_num = 0;
    std::uint32_t flow_label = 0;
    Gid dgid{};
};

/// The numbers of ibv_qp_state.
enum class QpState : std::uint8_t { kInit = 1, kRtr = 2, kRts = 3 };

/// The attributes for a change of a queue pair's state. `mask` (ibv_qp_attr_mask) says which count.
struct QpAttributes {
    std::uint32_t mask = 0;
    std::uint32_t access_flags = 0;
    std::uint16_t pkey_index = 0;
    std::uint8_t port_num = 0;
    std::uint8_t path_mtu = 0;
    std::uint8_t max_rd_atomic = 0;
    std::uint8_t max_dest_rd_atomic = 0;
    std::uint8_t min_rnr_timer = 0;
    std::uint8_t timeout = 0;
    std::uint8_t retry_count = 0;
    std::uint8_t rnr_retry = 0;
    QKey qkey{};
    Qpn dest_qpn{};
    Psn rq_psn{};
    Psn sq_psn{};
    Destination destination{};
};

struct Reply {
    std::int32_t status = 0;  ///< 0 or an errno value.
    IdHandle id = 0;          ///< New endpoint after kCreateId; new join after kJoin.
    IdInfo info{};
    QpAttributes attributes{};
};

/// The numbers of rdma_cm_event_type.
enum class EventType : std::uint32_t {
    kAddrResolved = 0,
    kAddrError = 1,
    kRouteResolved = 2,
    kRouteError = 3,
    kConnectRequest = 4,
    kConnectResponse = 5,
    kConnectError = 6,
    kUnreachable = 7,
    kRejected = 8,
    kEstablished = 9,
    kDisconnected = 10,
    kDeviceRemoval = 11,
    kMulticastJoin = 12,
    kMulticastError = 13,
    kAddrChange = 14,
    kTimewaitExit = 15,
};

struct Event {
    EventType type{};
    std::int32_t status = 0;  ///< 0 or a negative errno value; the REJ reason with kRejected.
    IdHandle id = 0;          ///< The endpoint; with kConnectRequest a new one.
    IdHandle listener = 0;    ///< The listener that a kConnectRequest came to.
    IdHandle join = 0;        ///< The join that a kMulticastJoin or kMulticastError is about.
    ConnectionParameters parameters{};
    Destination destination{};  ///< The peer's address for datagrams; empty for connections.
    IdInfo info{};
};

static_assert(std::is_trivially_copyable_v<Command> && std::is_trivially_copyable_v<Reply> &&
              std::is_trivially_copyable_v<Event>);

}  // namespace softib::cm
