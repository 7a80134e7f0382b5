// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Turns jobs into others: without collective operations, for simulators that have none; merged; or
// with more ranks.
//
// A collective operation becomes, at each member:
//   1. messages of one byte, by which the members of a node or NVLink domain wait for each other;
//   2. the steps of its algorithm (plan/collective/steps.h), each after what it waits for, and
//      beside them a computation that lasts as long as NVLink is busy;
//   3. the messages of one byte again.
// The software's time is spread over the steps that wait one for the other.
//
// If all members are in one NVLink domain, the operation becomes messages between them, without
// those of one byte; with NVLS it has no messages and lasts as long as NVLS takes. The bytes that
// an all-to-all moves over NVLink become messages too.

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/collective/collective.h"
#include "plan/player.h"
#include "plan/trace/job.h"

namespace softib::plan::trace {

/// Returns the job with messages in place of collective operations. `gpus` has the GPU of each
/// rank. Without `algorithm`, each operation has the one that NCCL would take. The error names a
/// communicator in which ranks have different numbers of operations.
std::expected<Job, std::string> expand(const Job& job, const Cluster& cluster,
                                       std::span<const std::uint32_t> gpus,
                                       std::optional<Algorithm> algorithm = {});

/// Returns a job with a rank for each end port of a simulation, which sends the same messages at
/// the same times.
Job job_of_messages(std::span<const MessageRecord> messages, std::uint32_t ends);

/// Returns one job that does what all of the jobs do at the same time. The ranks of the second job
/// follow those of the first, and so on.
Job merge(std::span<const Job> jobs);

/// Returns the job with `ranks` ranks, a multiple of the old number. Rank r does what rank r mod
/// the old number did, with peers at the same distance as before, counted the shorter way around
/// all ranks. Groups are repeated; a communicator of all ranks becomes one of all new ranks. The
/// error says which numbers of ranks are possible.
std::expected<Job, std::string> scale(const Job& job, std::uint32_t ranks);

}  // namespace softib::plan::trace
