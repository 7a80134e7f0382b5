// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/communication.h"

#include <algorithm>
#include <bit>

namespace softib::plan {

namespace {

// NCCL's own figures (src/graph/topo.h and tuning.cc of 2.30): bytes per second on one NVLink, and
// seconds of a ring's start and step with the Simple protocol.
constexpr double kNvLinkAmpere = 20.0e9;
constexpr double kNvLinkHopper = 20.6e9;
constexpr double kNvLinkBlackwell = 40.1e9;
constexpr double kStart = 8.4e-6;
constexpr double kNvLinkStep = 3.4e-6;
constexpr double kFabricStep = 14e-6;

/// The part of a NIC's rate that NCCL reaches: one NDR NIC gives a pair of GPUs 42.5 of 50 GB/s
/// (acceptance row L4).
constexpr double kFabricEfficiency = 0.85;

/// How the ranks of a group are spread over NVLink domains.
struct GroupShape {
    double ranks = 1;
    double domains = 1;
    double per_domain = 1;  ///< Ranks of one domain.
};

GroupShape shape_of(std::span<const std::uint32_t> ranks, std::uint32_t domain_gpus) {
    double domains = 0;
    std::uint32_t last = UINT32_MAX;
    for (const std::uint32_t rank : ranks) {  // In ascending order: ranks of a domain are together.
        if (rank / domain_gpus != last) {
            last = rank / domain_gpus;
            ++domains;
        }
    }
    const auto count = static_cast<double>(ranks.size());
    return {count, domains, count / domains};
}

double log2_ceil(double n) {
    return static_cast<double>(std::bit_width(static_cast<std::uint64_t>(n) - 1));
}

}  // namespace

LinkRates link_rates(const Cluster& cluster) {
    const double link = cluster.gpu.compute_capability >= 100  ? kNvLinkBlackwell
                        : cluster.gpu.compute_capability >= 90 ? kNvLinkHopper
                                                               : kNvLinkAmpere;
    const double nvlink = cluster.nvlink.links == 0
                              ? cluster.nvlink.bytes_per_s
                              : std::min(cluster.nvlink.bytes_per_s, link * cluster.nvlink.links);
    return {.nvlink_bytes_per_s = nvlink,
            .fabric_bytes_per_s = std::min(cluster.fabric_bytes_per_gpu_s() * kFabricEfficiency,
                                           cluster.pcie.bytes_per_s),
            .start_s = kStart,
            .nvlink_step_s = kNvLinkStep,
            .fabric_step_s = kFabricStep};
}

ExchangeCost LinkCommunication::cost(Exchange exchange, double bytes,
                                     std::span<const std::uint32_t> ranks) const {
    if (ranks.size() < 2 || bytes <= 0) {
        return {};
    }
    const GroupShape group = shape_of(ranks, domain_gpus_);
    const bool inside = group.domains == 1;
    if (exchange == Exchange::kSend) {
        const bool near = ranks[0] / domain_gpus_ == ranks[1] / domain_gpus_;
        const double stream =
            bytes / (near ? rates_.nvlink_bytes_per_s : rates_.fabric_bytes_per_s);
        const double step = near ? rates_.nvlink_step_s : rates_.fabric_step_s;
        return {rates_.start_s + step + stream, near ? bytes : 0, near ? 0 : bytes, stream};
    }
    if (exchange == Exchange::kAllToAll) {
        const double near = bytes * (group.per_domain - 1) / group.ranks;
        const double far = bytes * (group.ranks - group.per_domain) / group.ranks;
        const double latency = inside ? rates_.nvlink_step_s : rates_.fabric_step_s;
        const double stream = std::max(inside || near > 0 ? near / rates_.nvlink_bytes_per_s : 0,
                                       far / rates_.fabric_bytes_per_s);
        return {rates_.start_s + latency + stream, near, far, stream};
    }
    if (collnet_ && exchange == Exchange::kAllReduce && !inside) {
        const double near = 2 * bytes * (group.per_domain - 1) / group.per_domain;
        const double far = bytes / group.per_domain;
        const double stream =
            std::max(near / rates_.nvlink_bytes_per_s, far / rates_.fabric_bytes_per_s);
        const double latency =
            2 * ((group.per_domain - 1) * rates_.nvlink_step_s + rates_.fabric_step_s);
        return {rates_.start_s + latency + stream, near, far, stream};
    }
    // A ring passes each domain once; rings on the NICs of all its ranks divide the data.
    const double passes = exchange == Exchange::kAllReduce ? 2 : 1;
    const double moved = passes * bytes * (group.ranks - 1) / group.ranks;
    const double near_steps = passes * (group.ranks - group.domains);
    const double far_steps = inside ? 0 : passes * (group.domains - 1);
    double latency = near_steps * rates_.nvlink_step_s + far_steps * rates_.fabric_step_s;
    if (exchange == Exchange::kAllReduce) {
        const double tree = 2 * ((group.per_domain - 1) * rates_.nvlink_step_s +
                                 log2_ceil(group.domains) * rates_.fabric_step_s);
        latency = std::min(latency, tree);
    }
    if (inside) {
        const double stream = moved / rates_.nvlink_bytes_per_s;
        return {rates_.start_s + latency + stream, moved, 0, stream};
    }
    double rate = rates_.fabric_bytes_per_s * group.per_domain;
    if (group.per_domain > 1) {
        rate = std::min(rate, rates_.nvlink_bytes_per_s);
    }
    const double across = moved / group.per_domain;
    return {rates_.start_s + latency + moved / rate, moved - across, across, moved / rate};
}

}  // namespace softib::plan
