// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A job from what its processes posted to queue pairs on a live fabric, with the times of one
// clock.
//
// A process is a rank. What it posts to a queue pair of another process is a message; an RDMA READ
// is a request, and a message back that the other HCA sends by itself. What a process posts depends
// on what has arrived before. Time between two posts, or between an arrival and a post, is
// computation, as far as the process had a processor: virtual hosts share those of one machine.
// Time from a poll of an empty completion queue until a poll that finds something is waiting.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "plan/trace/job.h"

namespace softib::plan::trace {

enum class Recorded : std::uint8_t {
    kQueuePair,  ///< Was created; its number is `qpn`.
    kSent,       ///< A SEND or a WRITE.
    kRead,
    kAtomic,
    kWaits,  ///< A completion queue was empty,
    kFound,  ///< and later it had something.
};

struct RecordedEvent {
    std::uint64_t time_ns = 0;
    std::uint64_t cpu_ns = 0;  ///< What the process had computed until then.
    std::uint64_t bytes = 0;
    std::uint32_t qpn = 0;
    std::uint32_t remote_qpn = 0;
    Recorded what = Recorded::kSent;
};

struct RecordedProcess {
    std::string name = {};
    std::uint32_t rank = kNone;  ///< Of an MPI; kNone: unknown.
    std::uint32_t pid = 0;
    std::vector<RecordedEvent> events = {};  ///< In the order of time.
};

/// Processes without messages are left out; the others are ranks in the order of their MPI's ranks,
/// or of their process ids. Returns an error if nobody sent anything.
std::expected<Job, std::string> job_of(std::vector<RecordedProcess> processes);

}  // namespace softib::plan::trace
