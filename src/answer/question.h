// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Questions to the planner about clusters, collective operations and networks. A field is an option
// of `softib plan`, and a key of a question in TOML; ask.cc has the table of keys.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "spec/train/question.h"

namespace softib::answer {

struct ClusterQuestion {
    std::string cluster = {};  ///< A preset or a file.
    std::uint32_t nodes = 0;   ///< The first nodes of the cluster; 0: all.
    std::uint32_t planes = 0;  ///< Planes that share each NIC; 0: as the cluster says.
    std::string prices = {};   ///< A file with prices; empty: the built-in ranges.
};

/// What a cluster or a model is, by the keys of its file. One of the two is given.
struct DescribeQuestion {
    std::string cluster = {};
    std::string model = {};
};

struct CollectiveQuestion {
    std::string cluster = {};
    std::uint32_t nodes = 0;
    std::uint32_t planes = 0;
    std::string op = "all-reduce";
    std::string sizes = "8:1G";       ///< FROM:TO by powers of two, or a list of sizes.
    std::string algorithms = "nccl";  ///< Names separated by commas, "all", or "nccl".
    std::string protocol = {};        ///< Empty: the one that NCCL would choose.
    bool collnet = false;             ///< Whether NCCL may let switches aggregate.
    std::uint32_t channels = 0;
    std::string order = "topology";
    bool rails_crossed = false;
    std::uint64_t seed = 1;
    std::string model = "flow";
    std::string stack = "nccl";
    std::string step_time = "0ns";        ///< Time that an MPI takes for a step beside the message.
    std::vector<std::string> given = {};  ///< Names of the options that were given: "--seed".
};

struct CompareQuestion {
    std::string what = {};
    std::string cluster = {};  ///< Empty: two units of a SuperPOD of H100.
    std::uint32_t nodes = 0;
    std::string model = "flow";
    std::string size = {};
    std::string prices = {};
    std::string train = {};        ///< The model whose training is compared; empty: networks alone.
    std::string vary = {};         ///< KEY=VALUE,VALUE,... and so on.
    std::string sort = "tokens";   ///< Column by which steps are sorted.
    spec::TrainQuestion job = {};  ///< The rest of what is said about training.
    std::vector<std::string> given = {};
};

struct ServeQuestion {
    std::string model = {};        ///< A model by name, or a file.
    std::string cluster = {};      ///< A preset or a file.
    std::uint32_t prefill = 1;     ///< Nodes of the prefill pool.
    std::uint32_t decode = 1;      ///< Nodes of the decode pool.
    std::uint32_t prefill_tp = 0;  ///< GPUs of an instance; 0: all of a node.
    std::uint32_t decode_tp = 0;
    std::string rate = "1";  ///< Requests a second.
    std::string prompt = "4096";
    std::string answer = "256";
    std::string reuse = "0";         ///< Part of a prompt that the prefill pool has computed.
    std::string decode_reuse = "0";  ///< Part that the decode pool has, and is not sent.
    bool stream = false;             ///< Whether KV caches travel while the prompt is computed.
    std::string precision = "bf16";
    std::string kv_precision = "bf16";
    std::uint32_t batch = 256;
    std::uint32_t rails = 0;  ///< Rails of a node; 0: 1, 2, 4 ... all.
    std::uint32_t requests = 2000;
    std::uint64_t seed = 1;
    std::uint32_t seeds = 3;
    std::string network = "flow";
    std::vector<std::string> given = {};
};

struct CalibrateQuestion {
    std::string measurements = {};  ///< A file that the measuring program wrote.
    std::string cluster = {};       ///< The cluster of the GPU; empty: it is known by its name.
};

struct ExpectQuestion {
    std::string cluster = {};
    std::vector<std::string> logs = {};  ///< Files; "-": `text`. None: the expected table.
    std::string text = {};               ///< A log as text.
    std::uint32_t nodes = 0;             ///< Those of a run whose log does not say; 0: all.
    std::uint32_t per_node = 0;          ///< Ranks on each node; 0: one for each GPU.
    /// Names of benchmarks, tools or operations; with a log, what a table without a name is.
    std::string benchmark = "all";
    std::string sizes = "8,1K,32K,1M,32M,1G";
    std::string algorithm = "nccl";  ///< What NCCL was told to take.
    std::string protocol = "nccl";
    bool collnet = false;
    std::uint32_t channels = 0;
    std::vector<std::string> given = {};
};

// What fields may be.
inline constexpr char kOperations[] =
    "all-reduce|all-gather|reduce-scatter|broadcast|all-to-all|send-recv";
inline constexpr char kProtocolNames[] = "LL|LL128|Simple";
inline constexpr char kOrders[] = "topology|random";
inline constexpr char kModels[] = "flow|packet";
inline constexpr char kStacks[] = "nccl|mpi";
inline constexpr char kComparisons[] =
    "oversubscription|topology|generation|link-layer|sharp|failed-spine|kv-cache|planes|"
    "nvlink-domain|experts";
inline constexpr char kStepOrders[] = "tokens|step|mfu|price|power|none";
inline constexpr char kKvPrecisions[] = "bf16|fp8";
inline constexpr std::uint32_t kRailsMost = 64;
inline constexpr std::uint32_t kBatchMost = 4096;
inline constexpr std::uint32_t kRequestsMost = 1'000'000;
inline constexpr std::uint32_t kSeedsMost = 100;
inline constexpr std::uint32_t kNodesMost = 1'000'000;
inline constexpr std::uint32_t kPlanesMost = 64;
inline constexpr std::uint32_t kChannelsMost = 1024;

/// Why there is no answer.
struct Refusal {
    std::string text = {};
    bool misuse = false;  ///< The question itself is wrong: an option, and not what it names.
};

/// Returns why a question itself is wrong.
inline Refusal misuse(std::string text) {
    return {std::move(text), true};
}

/// Hears how far an answer is; may be empty.
using Watch = std::function<void(std::size_t done, std::size_t all, const std::string& what)>;

}  // namespace softib::answer
