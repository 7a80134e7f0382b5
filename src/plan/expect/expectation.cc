// SPDX-License-Identifier: BSD-2-Clause
#include "plan/expect/expectation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "core/topo/topology.h"
#include "plan/collective/algorithms.h"
#include "plan/collective/evidence.h"

namespace softib::plan {

namespace {

constexpr double kBytesPerUs = 1e3;  ///< What 1 GB/s moves.

// The tolerances of docs/validation.md: plateaus of bandwidth, and what latencies take part in.
constexpr double kPlateau = 0.10;
constexpr double kLatency = 0.25;
/// NCCL's published latencies are upper ones: well tuned machines are faster.
constexpr double kLatencyFaster = 0.7;
/// The part of a time that is latency from which on it counts as a latency.
constexpr double kLatencyShare = 0.05;
/// What is not validated has tolerances of this many times.
constexpr double kUnvalidated = 2;

/// Time of a post: a queue pair sends 2.6 to 8.8 million messages a second, as the CPU can.
constexpr double kPostUs = 0.13;
/// The longest message that perftest sends inline, and what the fetch of a longer one adds: 0.6 us
/// on ConnectX-3, 0.9 on ConnectX-6.
constexpr std::uint64_t kInlineBytes = 220;
constexpr double kFetchUs = 0.75;
/// Messages of at least this length keep a link busy whatever the CPU is.
constexpr std::uint64_t kLongMessage = std::uint64_t{1} << 20;
constexpr std::uint64_t kMediumMessage = std::uint64_t{64} << 10;

/// Factors around an expected value.
struct Band {
    double low = 1;
    double high = 1;
};

/// Returns the band of a time of which `share` is latency.
Band band_of(double share, bool known) {
    const double part = std::min(share / kLatencyShare, 1.0);
    const double times = known ? 1 : kUnvalidated;
    const double high = kPlateau + (kLatency - kPlateau) * part;
    const double low = kPlateau + (kLatencyFaster - kPlateau) * std::min(share * 2, 1.0);
    return {1 - std::min(low * (known ? 1 : 1.5), 0.9), 1 + high * times};
}

/// Returns the band of a message between two hosts: from 0.8 us on ConnectX-3 to 1.9 on ConnectX-6
/// behind slower CPUs, and the rate of the link if it is long.
Band message_band(double share) {
    return {1 - (0.1 + 0.2 * share), 1 + (0.1 + 1.2 * share)};
}

/// What a link gives at most, of what is expected of it.
constexpr double kLinkMost = 1.04;

Band stream_band(std::uint64_t bytes) {
    if (bytes >= kLongMessage) {
        return {0.95, kLinkMost};
    }
    return bytes >= kMediumMessage ? Band{0.85, kLinkMost} : Band{0.33, 1.9};
}

/// Returns whether a row of docs/validation.md has this operation of NCCL on at least half as many
/// NVLink domains.
bool is_validated(Op op, Algorithm algorithm, std::uint32_t domains) {
    return std::ranges::any_of(all_evidence(), [&](const Evidence& row) {
        return row.stack == Stack::kNccl && row.op == op && row.algorithm == algorithm &&
               domains >= row.domains_min && domains <= 2 * row.domains_max;
    });
}

void set_band(Expected& expected, const Band& band) {
    expected.low = expected.value * band.low;
    expected.high = expected.value * band.high;
}

}  // namespace

Setting in_run(const Setting& setting, Tool tool, std::uint32_t nodes, std::uint32_t per_node) {
    Setting run = setting;
    run.cluster = with_nodes(run.cluster, nodes);
    Cluster& cluster = run.cluster;
    if (tool != Tool::kNcclTests || per_node == 0 || per_node >= cluster.gpus_per_node) {
        return run;
    }
    topo::Spec& spec = cluster.fabric.spec;
    spec.hcas_per_host = std::max(spec.hcas_per_host * per_node / cluster.gpus_per_node, 1U);
    const std::uint32_t domain_nodes = cluster.domain_nodes();
    cluster.gpus_per_node = per_node;
    if (domain_nodes > 1) {
        cluster.nvlink.domain_gpus = domain_nodes * per_node;
    } else {
        cluster.nvlink.domain_gpus = std::min(cluster.nvlink.domain_gpus, per_node);
    }
    if (cluster.nvlink.domain_gpus == 1) {
        cluster.nvlink = {.domain_gpus = 1};
    }
    if (spec.hcas_per_host == 1 && topo::topology_of(spec.shape).rails) {
        spec.shape = topo::Shape::kFatTree;
    }
    return run;
}

std::expected<Expectation, std::string> Expectation::make(const Setting& setting,
                                                          const Benchmark& benchmark,
                                                          bool gpu_memory) {
    const bool nccl = benchmark.tool == Tool::kNcclTests;
    const std::uint32_t domain = setting.cluster.domain_gpus();
    const bool several = domain > 0 && setting.cluster.gpus() > domain;
    auto model = CollectiveModel::make(
        setting.cluster, {.channels = setting.channels,
                          .collnet = setting.collnet && nccl && several,
                          .order = setting.ordered ? RankOrder::kTopology : RankOrder::kRandom,
                          .rails_aligned = setting.rails_aligned,
                          .stack = nccl ? Stack::kNccl : Stack::kHost,
                          .step_us = nccl ? 0 : setting.hop_more_us,
                          .hop_more_us = setting.hop_more_us});
    if (!model) {
        return std::unexpected(model.error());
    }
    return Expectation(setting, benchmark, gpu_memory, *std::move(model));
}

std::expected<Expected, std::string> Expectation::of(std::uint64_t bytes) const {
    if (benchmark_->tool == Tool::kNcclTests) {
        return by_nccl(std::max<std::uint64_t>(bytes, 1));
    }
    if (benchmark_->is_bandwidth()) {
        return stream(std::max<std::uint64_t>(bytes, 1));
    }
    if (benchmark_->work != Work::kLatency) {
        return on_hosts(bytes);
    }
    const auto us = latency_us(bytes);
    const auto least = latency_us(0);
    if (!us || !least) {
        return std::unexpected((us ? least : us).error());
    }
    Expected expected{.value = *us, .known = true};
    // A message that the CPU copies, or that the NIC fetches, has more than its first latency.
    const double share = bytes < kMediumMessage ? 1 : std::min(2 * *least / *us, 1.0);
    set_band(expected, message_band(share));
    return expected;
}

std::expected<Expected, std::string> Expectation::by_nccl(std::uint64_t bytes) const {
    const Op op = benchmark_->op;
    Expected expected;
    std::expected<Timing, std::string> timing = std::unexpected(std::string());
    if (benchmark_->work == Work::kGather || benchmark_->work == Work::kScatter) {
        timing = model_->one_and_all(bytes, benchmark_->work == Work::kGather);
    } else {
        std::vector<Algorithm> among = setting_.algorithms;
        if (benchmark_->work == Work::kHypercube) {
            among = {Algorithm::kRecursive};
        } else if (benchmark_->work == Work::kReduce) {
            among = {Algorithm::kRing};
        }
        const nccl::Choice choice = model_->choose(op, bytes, among, setting_.protocols);
        expected.algorithm = choice.algorithm;
        const bool said = row_of(choice.algorithm).has_protocols;
        timing = model_->time(op, choice.algorithm, bytes,
                              said ? std::optional(choice.protocol) : std::nullopt);
    }
    if (!timing) {
        return std::unexpected(timing.error());
    }
    expected.value = timing->us;
    expected.protocol = timing->protocol;
    expected.known = is_validated(op, expected.algorithm, model_->layout().domains());
    expected.busbw = static_cast<double>(bytes) / timing->us / kBytesPerUs *
                     benchmark_->bus_factor(model_->ranks());
    set_band(expected, band_of(timing->software_us / timing->us, expected.known));
    return expected;
}

/// Returns the time by the fastest algorithm, as an MPI that is well tuned would take it.
std::expected<Timing, std::string> Expectation::fastest_on_hosts(std::uint64_t bytes,
                                                                 Algorithm& algorithm) const {
    std::expected<Timing, std::string> best = std::unexpected(std::string());
    for (const AlgorithmRow& row : algorithm_rows()) {
        if (row.on_hosts == nullptr || !computes(row.algorithm, benchmark_->op)) {
            continue;
        }
        const auto timing = model_->time(benchmark_->op, row.algorithm, bytes);
        if (!timing) {
            return timing;
        }
        if (!best || timing->us < best->us) {
            best = timing;
            algorithm = row.algorithm;
        }
    }
    return best;
}

std::expected<Expected, std::string> Expectation::on_hosts(std::uint64_t bytes) const {
    const std::uint64_t ranks = model_->ranks();
    const Work work = benchmark_->work;
    // OSU's size is that of a block where each rank has one for each other rank.
    const bool blocks = benchmark_->op == Op::kAllGather || benchmark_->op == Op::kAllToAll;
    const std::uint64_t all = std::max<std::uint64_t>(blocks ? bytes * ranks : bytes, 1);
    Expected expected;
    const auto timing = work == Work::kGather || work == Work::kScatter
                            ? model_->one_and_all(all, work == Work::kGather)
                            : fastest_on_hosts(all, expected.algorithm);
    if (!timing) {
        return std::unexpected(timing.error());
    }
    expected.value = timing->us;
    const auto least = latency_us(0);
    const double share = bytes < kMediumMessage ? 1 : std::min(4 * *least / timing->us, 1.0);
    // Which algorithm an MPI takes is not known.
    set_band(expected, {1 - (0.15 + 0.25 * share), 1 + (0.3 + 1.2 * share)});
    return expected;
}

std::expected<double, std::string> Expectation::latency_us(std::uint64_t bytes) const {
    if (benchmark_->tool == Tool::kOsu) {
        const auto timing =
            model_->time(Op::kSendRecv, Algorithm::kDirect, std::max<std::uint64_t>(bytes, 1));
        return timing ? std::expected<double, std::string>(timing->us)
                      : std::unexpected(timing.error());
    }
    const auto way = model_->send_between_nodes(std::max<std::uint64_t>(bytes, 1), 1);
    if (!way) {
        return way;
    }
    // The first packet crosses PCIe on both hosts before the next can follow it.
    const Cluster& cluster = model_->cluster();
    const auto packet = static_cast<double>(std::min<std::uint64_t>(bytes, cluster.fabric.mtu));
    double us = *way + 2 * packet / (cluster.pcie.bytes_per_s / 1e6) + setting_.hop_more_us;
    us += bytes > kInlineBytes ? kFetchUs : 0;
    if (benchmark_->ways > 1) {
        const auto request = model_->send_between_nodes(1, 1);
        us += request.value_or(0) + setting_.hop_more_us;
    }
    return us;
}

Expected Expectation::stream(std::uint64_t bytes) const {
    const Cluster& cluster = model_->cluster();
    const bool both = benchmark_->work == Work::kBothWays;
    double rate = cluster.nic_bytes_per_s() / 1e9 * (both ? 2 * setting_.both_ways : 1);
    if (gpu_memory_) {
        rate *= kGpuMemoryShare * setting_.gpu_memory;
    }
    const double posted = static_cast<double>(bytes) / kPostUs / kBytesPerUs * (both ? 2 : 1);
    Expected expected{.value = std::min(rate, posted), .known = true};
    Band band = stream_band(bytes);
    if (both) {
        band.low *= 0.95;
    }
    set_band(expected, band);
    // Nothing is faster than the link.
    expected.high = std::min(expected.high, rate * kLinkMost);
    return expected;
}

}  // namespace softib::plan
