// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a benchmark should give on a cluster: the time by the model of collective operations
// (plan/collective), the rate of a link, the latency of a message, each with the interval in which
// machines without a fault lie.

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/collective/collective_model.h"
#include "plan/expect/benchmark.h"

namespace softib::plan {

/// A cluster, and what NCCL was told on it. A fault (faults.h) changes it.
struct Setting {
    Cluster cluster = {};
    bool collnet = false;
    std::uint32_t channels = 0;  ///< Between domains; 0: as NCCL has them.
    bool rails_aligned = true;
    bool ordered = true;  ///< Whether neighbours in the order of ranks are near in the fabric.
    std::vector<Algorithm> algorithms = {};  ///< Those that NCCL may take; empty: all.
    std::vector<Protocol> protocols = {};
    double hop_more_us = 0;  ///< Further latency of each hop between nodes.
    double both_ways = 1;    ///< Part of a NIC's rate that is left when it sends and receives.
    double gpu_memory = 1;   ///< Part of a NIC's rate that reaches GPUs' memory one way.
};

/// Returns the setting of a run of `nodes` nodes with `per_node` ranks on each. A run that takes
/// some of the GPUs of nodes has the NICs next to these.
Setting in_run(const Setting& setting, Tool tool, std::uint32_t nodes, std::uint32_t per_node);

struct Expected {
    double value = 0;  ///< Microseconds, or GB/s for a bandwidth.
    double low = 0;    ///< The least value that is no fault.
    double high = 0;
    bool known = false;  ///< Whether published rows are near (docs/validation.md).
    Algorithm algorithm = Algorithm::kDirect;
    Protocol protocol = Protocol::kSimple;
    double busbw = 0;  ///< GB/s of an operation of NCCL.
};

class Expectation {
  public:
    /// Prepares what a benchmark should give in a setting of a run. The error says what does not
    /// fit.
    static std::expected<Expectation, std::string> make(const Setting& setting,
                                                        const Benchmark& benchmark,
                                                        bool gpu_memory = false);

    std::expected<Expected, std::string> of(std::uint64_t bytes) const;
    std::uint32_t ranks() const { return model_->ranks(); }

  private:
    Expectation(const Setting& setting, const Benchmark& benchmark, bool gpu_memory,
                std::unique_ptr<CollectiveModel> model)
        : setting_(setting),
          benchmark_(&benchmark),
          gpu_memory_(gpu_memory),
          model_(std::move(model)) {}
    std::expected<Expected, std::string> by_nccl(std::uint64_t bytes) const;
    std::expected<Expected, std::string> on_hosts(std::uint64_t bytes) const;
    std::expected<Timing, std::string> fastest_on_hosts(std::uint64_t bytes,
                                                        Algorithm& algorithm) const;
    std::expected<double, std::string> latency_us(std::uint64_t bytes) const;
    Expected stream(std::uint64_t bytes) const;

    Setting setting_;
    const Benchmark* benchmark_;
    bool gpu_memory_;
    std::unique_ptr<CollectiveModel> model_;
};

}  // namespace softib::plan
