// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Makes a job from the work requests that its processes posted on a live fabric, with the times of
// one clock.
//
// A process is a rank. A SEND or WRITE to a queue pair of another process is a message. An RDMA
// READ or an atomic is a request, and a message back that the other HCA sends without its process.
// A post depends on the messages that have arrived at the process before. The time between two
// posts, or between an arrival and a post, is computation, as far as the process had a processor:
// virtual hosts share those of one machine. The time from a poll of an empty completion queue until
// a poll that finds a completion is waiting.

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "plan/trace/job.h"

namespace softib::plan::trace {

enum class Recorded : std::uint8_t {
    kQueuePair,  ///< The queue pair `qpn` was created.
    kSent,       ///< A SEND or a WRITE was posted.
    kRead,       ///< An RDMA READ was posted.
    kAtomic,     ///< An atomic was posted.
    kWaits,      ///< The process polled an empty completion queue.
    kFound,      ///< A poll found a completion, after polls that found none.
};

struct RecordedEvent {
    std::uint64_t time_ns = 0;
    std::uint64_t cpu_ns = 0;  ///< CPU time of the process until then.
    std::uint64_t bytes = 0;
    std::uint32_t qpn = 0;
    std::uint32_t remote_qpn = 0;
    Recorded what = Recorded::kSent;
};

struct RecordedProcess {
    std::string name = {};
    std::uint32_t rank = kNone;  ///< Rank that its MPI gave it; kNone: unknown.
    std::uint32_t pid = 0;
    std::vector<RecordedEvent> events = {};  ///< Events in the order of time.
};

/// Returns the job. Processes without messages are left out; the others are ranks in the order of
/// their MPI's ranks, or of their process ids. Returns an error if no process sent a message.
std::expected<Job, std::string> job_of(std::vector<RecordedProcess> processes);

}  // namespace softib::plan::trace
