// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The enumerations of work requests, completions and keys. Their numbers equal those of the verbs
// ABI, so that the ABI layer converts by a cast; that layer asserts the equality.

#include <cstdint>

#include "core/base/ids.h"

namespace softib::hca {

enum class WrOpcode : std::uint8_t {
    kWrite = 0,
    kWriteImm = 1,
    kSend = 2,
    kSendImm = 3,
    kRead = 4,
    kCompareSwap = 5,
    kFetchAdd = 6,
    kLocalInv = 7,
    kBindMw = 8,
    kSendInv = 9,
    kAtomicWrite = 15,
};

enum class WcStatus : std::uint8_t {
    kSuccess = 0,
    kLocLenErr = 1,
    kLocQpOpErr = 2,
    kLocProtErr = 4,
    kWrFlushErr = 5,
    kMwBindErr = 6,
    kBadRespErr = 7,
    kLocAccessErr = 8,
    kRemInvReqErr = 9,
    kRemAccessErr = 10,
    kRemOpErr = 11,
    kRetryExcErr = 12,
    kRnrRetryExcErr = 13,
};

enum class WcOpcode : std::uint8_t {
    kSend = 0,
    kRdmaWrite = 1,
    kRdmaRead = 2,
    kCompSwap = 3,
    kFetchAdd = 4,
    kBindMw = 5,
    kLocalInv = 6,
    kAtomicWrite = 9,
    kRecv = 128,
    kRecvRdmaWithImm = 129,
};

enum WcFlags : std::uint8_t { kWcGrh = 1, kWcWithImm = 2, kWcWithInv = 8 };

enum SendFlags : std::uint8_t {
    kSendFence = 1,
    kSendSignaled = 2,
    kSendSolicited = 4,
    kSendInline = 8,
};

enum class AsyncKind : std::uint32_t {
    kCqErr = 0,
    kQpFatal = 1,
    kQpReqErr = 2,
    kQpAccessErr = 3,
    kCommEst = 4,
    kSqDrained = 5,
    kDeviceFatal = 8,
    kPortActive = 9,
    kPortErr = 10,
    kLidChange = 11,
    kPKeyChange = 12,
    kSmChange = 13,
    kSrqErr = 14,
    kSrqLimitReached = 15,
    kQpLastWqeReached = 16,
    kClientReregister = 17,
    kGidChange = 18,
};

enum AccessFlags : std::uint32_t {
    kLocalWrite = 1,
    kRemoteWrite = 2,
    kRemoteRead = 4,
    kRemoteAtomic = 8,
    kMwBind = 16,
    kZeroBased = 32,
};

enum class KeyKind : std::uint8_t {
    kRegion = 0,
    kNull = 1,
    kWindow1 = 2,
    kWindow2 = 3,
    kDeviceMemory = 4,
};

constexpr bool is_window(KeyKind kind) {
    return kind == KeyKind::kWindow1 || kind == KeyKind::kWindow2;
}

/// Returns whether a window of this kind may be bound. A window of type 2 must not be bound already
/// (IBA vol. 1, o10-37.2.30), and a bind of length 0 does not free it (o10-37.2.40). A window of
/// type 1 may be bound again at any time, is unbound by length 0, and must not be zero-based
/// (o10-36.2.2).
constexpr bool kind_allows_bind(KeyKind kind, bool bound, std::uint32_t access,
                                std::uint64_t length) {
    return (kind == KeyKind::kWindow2 && !bound && length != 0) ||
           (kind == KeyKind::kWindow1 && (access & kZeroBased) == 0);
}

struct Sge {
    std::uint64_t addr;
    std::uint32_t length;
    std::uint32_t lkey;
};

inline constexpr std::uint32_t kSgesMax = 32;
inline constexpr std::uint32_t kInlineBytesMax = 1024;
inline constexpr std::uint32_t kMessageBytesMax = 1U << 31;

/// The value of rnr_retry with which a requester never gives up (IBA vol. 1, 9.7.5.2.8).
inline constexpr std::uint8_t kRnrRetryForever = 7;
/// The bit of the Q_Key in a work request for which the Q_Key of the queue pair is sent instead
/// (IBA vol. 1, 10.2.5).
inline constexpr std::uint32_t kQKeyControlled = 0x80000000;

/// The kind of network that a port is connected to. On Ethernet the packets are RoCEv2: there are
/// no LIDs, every packet has a GRH, which stands for its IP header, and GIDs are IP addresses
/// (annex A17).
enum class LinkLayer : std::uint8_t { kInfiniBand, kEthernet };

/// The destination of a packet.
struct AddressVector {
    Lid dlid{};
    std::uint8_t sl = 0;
    std::uint8_t path_bits = 0;
    bool global = false;
    std::uint8_t hop_limit = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t sgid_index = 0;
    std::uint32_t flow_label = 0;
    Gid dgid{};
};

/// Returns the opcode in the completion of a send request.
constexpr WcOpcode completion_opcode(WrOpcode opcode) {
    switch (opcode) {
        case WrOpcode::kWrite:
        case WrOpcode::kWriteImm:
            return WcOpcode::kRdmaWrite;
        case WrOpcode::kRead:
            return WcOpcode::kRdmaRead;
        case WrOpcode::kCompareSwap:
            return WcOpcode::kCompSwap;
        case WrOpcode::kFetchAdd:
            return WcOpcode::kFetchAdd;
        case WrOpcode::kLocalInv:
            return WcOpcode::kLocalInv;
        case WrOpcode::kBindMw:
            return WcOpcode::kBindMw;
        case WrOpcode::kAtomicWrite:
            return WcOpcode::kAtomicWrite;
        default:
            return WcOpcode::kSend;
    }
}

}  // namespace softib::hca
