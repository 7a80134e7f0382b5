// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The vocabulary of work requests and completions. Numbers equal those of the verbs ABI, so that
// the ABI layer casts instead of translating (it asserts the equality).

#include <cstdint>

#include "runtime/live/arena.h"

namespace softib::live {

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

/// Where a datagram goes.
struct AddressVector {
    Lid dlid;
    std::uint8_t sl = 0;
    std::uint8_t path_bits = 0;
    bool global = false;
    std::uint8_t hop_limit = 0;
    std::uint8_t traffic_class = 0;
    std::uint8_t sgid_index = 0;
    std::uint32_t flow_label = 0;
    std::uint8_t dgid[16]{};
};

struct AddressHandle {
    AddressVector to;
    // Path as last walked; guarded by the sender's stripe lock is not enough (handles are shared
    // between queue pairs), hence one word: generation << 32 | P_Key << 16 | HCA + 1, which is 0
    // where packets of this partition do not arrive.
    std::atomic<std::uint64_t> path{0};
};

inline constexpr std::uint32_t kInlineBytesMax = 1024;
inline constexpr std::uint32_t kMessageBytesMax = 1U << 31;

struct BindInfo {
    std::uint32_t mr_index;
    std::uint32_t mw_index;
    std::uint32_t new_rkey;
    std::uint32_t access;
    std::uint64_t address;
    std::uint64_t length;
};

struct WorkRequest {
    std::uint64_t wr_id;
    WrOpcode opcode;
    std::uint8_t flags;  ///< SendFlags
    std::uint16_t num_sge;
    std::uint32_t imm_or_rkey;
    const Sge* sges;
    std::uint64_t remote_addr;
    std::uint32_t rkey;
    std::uint32_t remote_srqn;  ///< XRC
    std::uint64_t compare_add;
    std::uint64_t swap;
    AddressHandle* ah;  ///< UD
    std::uint32_t remote_qpn;
    std::uint32_t remote_qkey;
    const BindInfo* bind;
};

}  // namespace softib::live
