// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How long ranks take to exchange bytes. The model of a training step asks the interface
// `Communication`, which a formula (LinkCommunication) or a simulated fabric
// (fabric_communication.h) answers. Rank r is GPU r of the job: GPU r mod gpus_per_node of the
// job's node r / gpus_per_node.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "plan/cluster/cluster.h"
#include "plan/fabric_load.h"

namespace softib::plan {

enum class Exchange : std::uint8_t {
    kAllReduce,      ///< Its bytes are what each rank has before and after.
    kReduceScatter,  ///< Its bytes are what each rank has before.
    kAllGather,      ///< Its bytes are what each rank has after.
    kAllToAll,       ///< Its bytes are what each rank sends, its own part included.
    kSend,           ///< Its bytes go from each rank to the next, and from the last to the first.
};

struct ExchangeCost {
    double seconds = 0;
    double nvlink_bytes = 0;  ///< Bytes that a rank sends over NVLink.
    double fabric_bytes = 0;  ///< Bytes that a rank sends over the fabric.
    double stream_s = 0;      ///< The part of `seconds` that the bytes need, without latencies.

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
    /// Returns the cost of an exchange while every other group of the same kind does the same at
    /// once. `ranks` is the group of rank 0, in ascending order.
    virtual ExchangeCost cost(Exchange exchange, double bytes,
                              std::span<const std::uint32_t> ranks) const = 0;
    /// Returns why a cost that was returned is not valid, for example that the fabric does not
    /// connect the ranks; std::nullopt if all are valid.
    virtual std::optional<std::string> fault() const { return std::nullopt; }

    /// The bytes of a step for which a group of ranks takes the fabric.
    struct Traffic {
        Exchange exchange = Exchange::kAllReduce;
        std::vector<std::uint32_t> ranks = {};  ///< The group of rank 0.
        double bytes = 0;                       ///< What a GPU sends over the fabric, on average.
    };
    /// Returns how busy traffic keeps the fabric in this time; std::nullopt if there is no model of
    /// the fabric that knows.
    virtual std::optional<FabricLoad> load(const std::vector<Traffic>&, double) const {
        return std::nullopt;
    }
};

/// The data rates that NCCL reaches on links, and the latencies of its steps.
struct LinkRates {
    double nvlink_bytes_per_s = 0;  ///< Rate of a GPU over NVLink.
    double fabric_bytes_per_s = 0;  ///< Rate of a GPU while all NICs of its node are in use.
    double start_s = 0;             ///< Time to start any exchange.
    double nvlink_step_s = 0;       ///< Latency of a step over NVLink.
    double fabric_step_s = 0;       ///< Latency of a step over the fabric.
};
LinkRates link_rates(const Cluster& cluster);

/// Computes costs from rates and latencies alone: rings over all ranks, with the latency of a tree
/// where that is less. Exchanges do not collide in the fabric. With CollNet switches between
/// domains add up all-reduces: a NIC sends its part once and receives the sum meanwhile.
class LinkCommunication : public Communication {
  public:
    explicit LinkCommunication(const Cluster& cluster)
        : domain_gpus_(cluster.domain_gpus()),
          rates_(link_rates(cluster)),
          collnet_(cluster.fabric.collnet) {}
    LinkCommunication(std::uint32_t domain_gpus, const LinkRates& rates)
        : domain_gpus_(domain_gpus), rates_(rates) {}
    ExchangeCost cost(Exchange exchange, double bytes,
                      std::span<const std::uint32_t> ranks) const override;

  private:
    std::uint32_t domain_gpus_;
    LinkRates rates_;
    bool collnet_ = false;
};

}  // namespace softib::plan
