// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The kill loop: a survivor, a buddy that shares the survivor's queues and must never notice, and
// one victim after another that is killed in mid-operation. See kill_main.cc.

#include <cstdint>

#include "rig.h"

namespace faults {

enum class Op : std::uint32_t {
    kSend,
    kWrite,
    kWriteImm,
    kRead,
    kAtomic,
    kSharedQueue,
    kDatagram,
    kLarge
};
inline constexpr std::uint32_t kOps = 8;
inline constexpr const char* kOpNames[kOps] = {"SEND",      "WRITE", "WRITE_IMM", "READ",
                                               "FETCH_ADD", "SRQ",   "UD",        "LARGE"};

enum class Role : std::uint32_t { kVictimSends, kVictimReceives };

/// What the survivor tells the victim to do.
struct Plan {
    Op op;
    Role role;
    std::uint32_t bytes;
    std::uint32_t reserved;
    Address survivor;
};

inline constexpr std::uint32_t kWindow = 8;
inline constexpr std::uint32_t kRecvSlots = 16;
inline constexpr std::uint32_t kSrqSlots = 32;
inline constexpr std::uint32_t kSmallBytes = 1024;
inline constexpr std::uint32_t kLargeBytes = 256 * 1024;
inline constexpr std::uint32_t kGrhBytes = 40;
/// The bytes of a received message: its number, then a pattern that follows from the number.
inline constexpr std::uint32_t kSlotBytes = kSmallBytes + 64;

inline bool takes_receive(Op op) {
    return op == Op::kSend || op == Op::kWriteImm || op == Op::kSharedQueue ||
           op == Op::kDatagram || op == Op::kLarge;
}

/// Posts one operation of `op` on message `message`, whose bytes are at `from`.
void post_op(ibv_qp* qp, Op op, std::uint64_t wr_id, void* from, std::uint32_t bytes,
             std::uint32_t lkey, const Address& to, ibv_ah* ah);

int run_victim();
int run_buddy();

}  // namespace faults
