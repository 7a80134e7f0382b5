// SPDX-License-Identifier: BSD-2-Clause
// The attributes that a queue pair needs for its next state, from the connection or from the port.
#include <cerrno>

#include "core/cm/host.h"

namespace softib::cm {

namespace {

// Bits of ibv_qp_attr_mask and ibv_access_flags.
constexpr std::uint32_t kState = 1 << 0;
constexpr std::uint32_t kAccessFlags = 1 << 3;
constexpr std::uint32_t kPKeyIndex = 1 << 4;
constexpr std::uint32_t kPort = 1 << 5;
constexpr std::uint32_t kQKey = 1 << 6;
constexpr std::uint32_t kAv = 1 << 7;
constexpr std::uint32_t kPathMtu = 1 << 8;
constexpr std::uint32_t kTimeout = 1 << 9;
constexpr std::uint32_t kRetryCnt = 1 << 10;
constexpr std::uint32_t kRnrRetry = 1 << 11;
constexpr std::uint32_t kRqPsn = 1 << 12;
constexpr std::uint32_t kMaxQpRdAtomic = 1 << 13;
constexpr std::uint32_t kMinRnrTimer = 1 << 15;
constexpr std::uint32_t kSqPsn = 1 << 16;
constexpr std::uint32_t kMaxDestRdAtomic = 1 << 17;
constexpr std::uint32_t kDestQpn = 1 << 20;

constexpr std::uint32_t kRemoteWrite = 1 << 1;
constexpr std::uint32_t kRemoteRead = 1 << 2;
constexpr std::uint32_t kRemoteAtomic = 1 << 3;

std::uint16_t index_of(std::span<const PKey> table, PKey pkey) {
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (same_partition(table[i], pkey)) {
            return static_cast<std::uint16_t>(i);
        }
    }
    return 0;
}

}  // namespace

int Host::query_attributes(const Id& id, QpState state, QpAttributes& out) const {
    if (!id.has_port) {
        return EINVAL;
    }
    const LocalPort port = surroundings_.port(id.route.port);
    const Connection* const connection = connections_.find(id.connection);
    const bool is_requester = id.type == QpType::kRc || id.type == QpType::kXrcSend;
    const bool is_responder = id.type == QpType::kRc || id.type == QpType::kXrcRecv;
    if (state == QpState::kInit) {
        out.mask = kState | kPKeyIndex | kPort;
        out.pkey_index = index_of(port.pkeys, id.route.path.pkey);
        out.port_num = 1;
        if (id.type == QpType::kUd) {
            out.mask |= kQKey;
            out.qkey = id.qkey;
            return 0;
        }
        out.mask |= kAccessFlags;
        if (connection != nullptr) {
            out.access_flags = kRemoteWrite;
            if (connection->responder_resources != 0) {
                out.access_flags |= kRemoteRead | kRemoteAtomic;
            }
        }
        return 0;
    }
    if (id.type == QpType::kUd) {
        out.mask = state == QpState::kRts ? kState | kSqPsn : kState;
        return 0;
    }
    if (connection == nullptr || connection->state == ConnectionState::kReqSent) {
        return EINVAL;
    }
    if (state == QpState::kRtr) {
        out.mask = kState | kAv | kPathMtu | kDestQpn | kRqPsn;
        out.destination = destination_of(connection->route, port);
        out.path_mtu = connection->route.path.mtu;
        out.dest_qpn = connection->remote_qpn;
        out.rq_psn = connection->remote_psn;
        if (is_responder) {
            out.mask |= kMaxDestRdAtomic | kMinRnrTimer;
            out.max_dest_rd_atomic = connection->responder_resources;
        }
        return 0;
    }
    if (state != QpState::kRts) {
        return EINVAL;
    }
    out.mask = kState | kSqPsn;
    out.sq_psn = connection->local_psn;
    if (is_requester || is_responder) {
        out.mask |= kTimeout;
        out.timeout = id.ack_timeout != 0 ? id.ack_timeout : connection->ack_timeout;
    }
    if (is_requester) {
        out.mask |= kRetryCnt | kRnrRetry | kMaxQpRdAtomic;
        out.retry_count = connection->retry_count;
        out.rnr_retry = connection->rnr_retry_count;
        out.max_rd_atomic = connection->initiator_depth;
    }
    return 0;
}

}  // namespace softib::cm
