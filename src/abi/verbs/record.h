// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Records what a program posts (runtime/shm/record_log.h). A program that is not recorded gets
// other functions for posting and polling, so it pays nothing.

#include <infiniband/verbs.h>

#include <cstdint>

#include "runtime/shm/record_log.h"

namespace softib::abi::record {

/// Whether the environment names a folder for records.
bool wanted();

/// When something was posted, and what the process had computed until then.
struct Moment {
    std::uint64_t time_ns;
    std::uint64_t cpu_ns;
};
Moment now();
void created(std::uint32_t qpn);
/// A request that was posted at this time; what moves no bytes is left out.
void posted(const Moment& at, ibv_wr_opcode opcode, std::uint64_t bytes, std::uint32_t qpn,
            std::uint32_t remote_qpn);
/// A completion queue was looked at.
void polled(bool found);

}  // namespace softib::abi::record
