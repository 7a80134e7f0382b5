// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How much of its time a training job trains, while parts of its cluster fail: a simulation of
// weeks from event to event. Failures come at random with constant rates (a Poisson process); the
// job notices one, waits for a node if there is no spare one, restarts, and repeats what it did
// after its last checkpoint. A run is a value of its seed; nothing else is random.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/distribution.h"
#include "plan/goodput/failures.h"

namespace softib::plan {

/// What becomes of a link that fails: the job stops; a NIC goes on with its other planes; a node
/// goes on with its other NICs.
enum class Failover : std::uint8_t { kNone, kPlane, kRail };
const char* to_string(Failover failover);

inline constexpr double kHourS = 3600;

/// A job and its cluster as the simulation sees them. Times are in seconds.
struct GoodputJob {
    std::uint32_t nodes = 1;
    std::uint32_t gpus_per_node = 1;
    std::uint32_t nics_per_node = 1;
    std::uint32_t planes = 1;  ///< Planes of a NIC, each with its own switches.
    std::uint32_t spares = 0;  ///< Nodes that take the place of failed ones.
    Failures failures = {};
    double detect_s = 0;   ///< Time until a failure is noticed.
    double timeout_s = 0;  ///< Time until one is noticed that hangs.
    double restart_s = 0;  ///< Time from there to the first step, without reading the checkpoint.
    double checkpoint_bytes = 0;
    double storage_bytes_per_s = 1;  ///< Rate of all nodes together, written or read.
    bool asynchronous = false;       ///< Whether the job computes while a checkpoint is written.
    double copy_s = 0;               ///< Stop for a checkpoint that is written asynchronously.
    double interval_s = 0;           ///< Time between checkpoints; 0: best_interval().
    double step_s = 0;               ///< Time of a step, the least between checkpoints.
    double horizon_s = 0;            ///< Simulated time.
    Failover failover = Failover::kNone;
    /// Part by which steps are longer while 1, 2, ... planes of a NIC or NICs of a node are down.
    std::vector<double> slower = {};

    double write_s() const { return checkpoint_bytes / storage_bytes_per_s; }
    /// Returns the time for which a checkpoint stops the job.
    double stall_s() const { return asynchronous ? copy_s : write_s(); }
    /// Returns the time between the end of a checkpoint's stall and the next one's.
    double interval() const;
    /// Returns the time to resume after a failure was noticed.
    double resume_s() const { return restart_s + write_s(); }
    /// Returns how many paths a link has that can take each other's place; 1: it has none.
    std::uint32_t paths() const;
};

/// Returns failures of this kind per second.
double rate_of(const GoodputJob& job, const FailureKind& kind);
/// Returns whether a single failure of this kind stops the job.
bool interrupts(const GoodputJob& job, const FailureKind& kind);

/// What time is lost by.
enum class LostBy : std::uint8_t { kRepeated, kDetection, kWaiting, kRestart, kSlowLinks };
inline constexpr std::size_t kLosses = 5;
const char* to_string(LostBy loss);

/// What one kind of failure did in a run.
struct KindResult {
    double failures = 0;
    double interruptions = 0;
    std::array<double, kLosses> lost_s = {};  ///< By LostBy.

    double lost() const;
};

struct RunResult {
    double productive_s = 0;
    double checkpoint_s = 0;
    std::vector<KindResult> kinds = {};  ///< In the order of the job's failures.

    double lost(LostBy loss) const;
    double interruptions() const;
};

/// Simulates one run.
RunResult simulate(const GoodputJob& job, std::uint64_t seed);

/// Several runs of one job.
struct Goodput {
    Distribution ettr = {};           ///< Effective training time ratio of each run.
    Distribution interruptions = {};  ///< Interruptions of each run that nobody planned.
    RunResult mean = {};              ///< The mean of all runs.
};
/// Puts runs of one job together.
Goodput summarize(const GoodputJob& job, const std::vector<RunResult>& runs);

/// A change of a job that may make its time more effective.
struct Remedy {
    std::string name = {};
    GoodputJob job = {};
    std::uint32_t more_spares = 0;
    bool more_nics = false;  ///< Whether each node gets a second NIC.
};
/// Returns the changes that may help this job: spare nodes, faster storage, links that fail over,
/// quicker detection and restarts.
std::vector<Remedy> remedies_for(const GoodputJob& job);

}  // namespace softib::plan
