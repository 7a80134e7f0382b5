// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How much of its time a job trains while parts of the cluster fail, and what would help (`softib
// plan goodput`).

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "answer/question.h"
#include "answer/train.h"
#include "plan/cluster/prices.h"
#include "plan/goodput/closed_form.h"
#include "plan/goodput/goodput.h"
#include "spec/train/question.h"

namespace softib::answer {

struct GoodputQuestion {
    spec::TrainQuestion train = {};  ///< The job: its model, cluster and mapping.
    std::string failures = {};       ///< A file; empty: the built-in rates.
    std::string detect = "1min";
    std::string timeout = "10min";
    std::string restart = "10min";
    std::string checkpoint = "sync";
    std::string checkpoint_every = {};  ///< Empty: the interval that loses least.
    std::string checkpoint_size = {};   ///< Empty: 14 bytes a parameter.
    std::string storage = {};           ///< Empty: 62 GB/s for each 32 nodes.
    std::string stall = {};             ///< Empty: the copy to the hosts' memory.
    std::string failover = "none";
    std::string spares = {};  ///< Empty: the nodes that the job leaves.
    std::uint32_t weeks = 8;
    std::uint32_t runs = 100;
    std::uint64_t failure_seed = 1;
    std::uint32_t threads = 0;  ///< 0: one for each core.
    std::string prices = {};
    std::string sort = "gain";
    std::vector<std::string> given = {};
};

inline constexpr char kCheckpointings[] = "sync|async";
inline constexpr char kFailovers[] = "none|plane|rail";
inline constexpr char kRemedyOrders[] = "gain|cost";
inline constexpr std::uint32_t kWeeksMost = 520;
inline constexpr std::uint32_t kRunsMost = 100'000;

/// What a change would bring.
struct RemedyReport {
    std::string name = {};
    double ettr = 0;                      ///< Mean of as many runs, with the same seeds.
    double gain = 0;                      ///< Gain of the ratio.
    std::optional<plan::Range> usd = {};  ///< Cost of the change; unset: prices do not know it.
    plan::Range worth_usd = {};           ///< Cost of a cluster that trains that much more.
};

struct GoodputReport {
    StepReport step = {};
    plan::GoodputJob job = {};
    plan::Goodput goodput = {};
    plan::FailureTimes times = {};
    double daly = 0;         ///< Daly's closed form of the ratio.
    double first_order = 0;  ///< The first-order estimate.
    std::vector<RemedyReport> remedies = {};
    std::uint32_t runs = 0;
    std::uint64_t seed = 0;
    std::vector<std::string> notes = {};
};

/// Simulates the job of a question, and the changes that may help it.
std::expected<GoodputReport, Refusal> goodput(const GoodputQuestion& question,
                                              const Watch& watch = {});

std::string to_json(const GoodputReport& report);

/// Parses "90s", "10min", "2h" or "3d" to seconds. The error continues the name of what is parsed.
std::expected<double, std::string> parse_duration(const std::string& text);
/// Returns a time as "4.2 min".
std::string show_duration(double seconds);

}  // namespace softib::answer
