// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Records what a program posts (runtime/shm/record_log.h). A program that is not recorded has other
// functions for posting and polling, so recording costs it nothing.

#include <infiniband/verbs.h>

#include <cstdint>

#include "runtime/shm/record_log.h"

namespace softib::abi::record {

/// Returns whether the environment names a folder for records.
bool wanted();

/// The time, and how much CPU time the process had used by then.
struct Moment {
    std::uint64_t time_ns;
    std::uint64_t cpu_ns;
};
Moment now();
/// Records that a queue pair was created.
void created(std::uint32_t qpn);
/// Records a request that was posted at this time. Leaves out requests that move no bytes.
void posted(const Moment& at, ibv_wr_opcode opcode, std::uint64_t bytes, std::uint32_t qpn,
            std::uint32_t remote_qpn);
/// Notes a poll of a completion queue. Records when the program begins to wait (the first poll that
/// finds nothing) and when it has waited (the next poll that finds a completion).
void polled(bool found);

}  // namespace softib::abi::record
