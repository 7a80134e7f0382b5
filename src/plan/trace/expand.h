// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Jobs without collective operations: what other simulators can read.
//
// An operation becomes, at each member: messages of one byte by which the members of a node or an
// NVLink domain wait for each other, the steps of its algorithm (plan/collective/steps.h), each
// behind what it waits for, NVLink's time beside them, and the same waiting again. The software's
// time is spread over the steps that follow each other. An operation of one NVLink domain's members
// is messages between them, without the waiting; by NVLS it is no messages but their time. What an
// exchange between all members moves over NVLink is messages too.

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

/// Ranks are on these GPUs of the cluster. Without an algorithm each operation has the one that
/// NCCL would take. The error names a group whose members disagree.
std::expected<Job, std::string> expand(const Job& job, const Cluster& cluster,
                                       std::span<const std::uint32_t> gpus,
                                       std::optional<Algorithm> algorithm = {});

/// What a simulation's end ports sent each other, as ranks that send it at the same times again.
Job job_of_messages(std::span<const MessageRecord> messages, std::uint32_t ends);

/// Jobs side by side as one: the ranks of the second follow those of the first.
Job merge(std::span<const Job> jobs);

/// The same job with `ranks` ranks: rank r does what rank r mod the old number does, with peers as
/// far away as before, the shorter way around. Groups are repeated, and a communicator of all ranks
/// stays one. The error says which numbers are possible.
std::expected<Job, std::string> scale(const Job& job, std::uint32_t ranks);

}  // namespace softib::plan::trace
