// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Exchanges on a simulated fabric. All groups of a kind are placed on the cluster's NICs and play
// the exchange at once, so that the answer includes how they slow each other down: rings of data
// parallelism that leave a leaf, stages that send across pods, an oversubscribed spine. Latency and
// the rates of NVLink and NCCL come from LinkCommunication; where the fabric needs longer for the
// bytes than the NICs, the fabric's time counts.
//
// A set of groups is played once, and its time is scaled by the bytes of each further exchange of
// these groups. One kind of groups is played at a time: gradients and activations that travel at
// the same time do not slow each other down.

#include <cstdint>
#include <expected>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plan/collective/flows.h"
#include "plan/collective/stage.h"
#include "plan/train/communication.h"

namespace softib::plan {

struct PlacementOptions {
    net::ModelKind model = net::ModelKind::kFlow;
    RankOrder order = RankOrder::kTopology;  ///< Order of the job's NVLink domains.
    std::uint64_t seed = 1;                  ///< Seed of a random order.
    bool rails_aligned = true;  ///< Whether NVLink takes data to the receiver's rail first.

    friend bool operator==(const PlacementOptions&, const PlacementOptions&) = default;
};

/// Answers from a simulated fabric. Not thread-safe: it caches what it has played.
class FabricCommunication : public Communication {
  public:
    /// Makes the communication of a job on the first `gpus` GPUs of the cluster. The error says
    /// what does not fit.
    static std::expected<std::unique_ptr<FabricCommunication>, std::string> make(
        const Cluster& cluster, std::uint32_t gpus, const PlacementOptions& options);

    ExchangeCost cost(Exchange exchange, double bytes,
                      std::span<const std::uint32_t> ranks) const override;
    std::optional<std::string> fault() const override { return fault_; }
    std::optional<FabricLoad> load(const std::vector<Traffic>& traffic,
                                   double seconds) const override;
    /// Returns the number of sets of groups that were played.
    std::size_t played() const { return phases_.size(); }

  private:
    enum class Pattern : std::uint8_t { kRing, kAllToAll, kSend };
    /// The time of an exchange of all groups of a kind at once.
    struct Phase {
        double seconds_per_byte = 0;  ///< Time for each byte that a rank sends.
        double latency_s = 0;         ///< Latency in excess of that within a leaf.
    };
    using Members = std::vector<std::uint32_t>;  ///< Ranks of one group in one NVLink domain.

    FabricCommunication(const Cluster& cluster, std::uint32_t gpus, const PlacementOptions& options,
                        std::unique_ptr<Stage> stage);
    static Pattern pattern_of(Exchange exchange);
    const Phase& phase_of(Pattern pattern, std::span<const std::uint32_t> ranks) const;
    Flows flows_of(Pattern pattern, std::span<const std::uint32_t> ranks) const;
    std::vector<std::uint32_t> bases_of(std::span<const std::uint32_t> ranks) const;
    void add_ring(const std::vector<Members>& domains, Flows& flows) const;
    void add_all_to_all(const std::vector<Members>& domains, std::size_t ranks, Flows& flows) const;
    void add_sends(std::span<const std::uint32_t> ranks, Flows& flows) const;
    void add_flow(std::uint32_t from, std::uint32_t to, double bytes, Flows& flows) const;

    std::uint32_t gpus_;
    std::uint32_t domain_gpus_;
    bool rails_aligned_;
    bool collnet_;
    LinkCommunication links_;
    Layout layout_;
    double leaf_s_;  ///< Latency between two HCAs of one leaf.
    std::unique_ptr<Stage> stage_;
    mutable std::map<std::pair<Pattern, std::vector<std::uint32_t>>, Phase> phases_ = {};
    mutable std::optional<std::string> fault_ = {};
};

}  // namespace softib::plan
