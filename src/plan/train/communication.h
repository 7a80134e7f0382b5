// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long ranks take to exchange bytes. Training steps ask through `Communication` alone, so that
// a formula (LinkCommunication) or a simulated fabric (fabric_communication.h) may answer. Rank r
// is GPU r of the job: GPU r mod gpus_per_node of its node r / gpus_per_node.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "plan/cluster/cluster.h"

namespace softib::plan {

enum class Exchange : std::uint8_t {
    kAllReduce,      ///< `bytes`: what each rank has before and after.
    kReduceScatter,  ///< `bytes`: what each rank has before.
    kAllGather,      ///< `bytes`: what each rank has after.
    kAllToAll,       ///< `bytes`: what each rank sends, its own part included.
    kSend,           ///< `bytes`: from each rank to the next, from the last to the first.
};

struct ExchangeCost {
    double seconds = 0;
    double nvlink_bytes = 0;  ///< What a rank sends over NVLink,
    double fabric_bytes = 0;  ///< and over the fabric.
    double stream_s = 0;      ///< Of the seconds: what the bytes need, without latencies.

    ExchangeCost& operator+=(const ExchangeCost& other) {
        seconds += other.seconds;
        nvlink_bytes += other.nvlink_bytes;
        fabric_bytes += other.fabric_bytes;
        stream_s += other.stream_s;
        return *this;
    }
};

class Communication {
  public:
    virtual ~Communication() = default;
    /// The cost while every other group of the same kind does the same at once. `ranks`: the group
    /// of rank 0, in ascending order.
    virtual ExchangeCost cost(Exchange exchange, double bytes,
                              std::span<const std::uint32_t> ranks) const = 0;
    /// Why some cost is not to be trusted: a fabric that does not join ranks, for example.
    virtual std::optional<std::string> fault() const { return std::nullopt; }
};

/// What part of a link NCCL turns into data, and how long a step takes.
struct LinkRates {
    double nvlink_bytes_per_s = 0;  ///< Of a GPU.
    double fabric_bytes_per_s = 0;  ///< Of a GPU, all NICs of its node in use.
    double start_s = 0;             ///< Of any exchange.
    double nvlink_step_s = 0;
    double fabric_step_s = 0;
};
LinkRates link_rates(const Cluster& cluster);

/// Rates and latencies alone: rings over all ranks, or a tree where its latency is less; nothing
/// collides in the fabric.
class LinkCommunication : public Communication {
  public:
    explicit LinkCommunication(const Cluster& cluster)
        : domain_gpus_(cluster.domain_gpus()), rates_(link_rates(cluster)) {}
    LinkCommunication(std::uint32_t domain_gpus, const LinkRates& rates)
        : domain_gpus_(domain_gpus), rates_(rates) {}
    ExchangeCost cost(Exchange exchange, double bytes,
                      std::span<const std::uint32_t> ranks) const override;

  private:
    std::uint32_t domain_gpus_;
    LinkRates rates_;
};

}  // namespace softib::plan
