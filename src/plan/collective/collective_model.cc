// SPDX-License-Identifier: BSD-2-Clause
#include "plan/collective/collective_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/topo/topology.h"
#include "plan/collective/algorithms.h"
#include "plan/collective/host_parts.h"

namespace softib::plan {

namespace {

/// Flows of at least this length take a time proportional to their bytes, since all have the same
/// share of headers.
constexpr std::uint64_t kLongFlow = 64 * 1024;

/// Returns NCCL's communicator of the domains that take part.
nccl::Communicator communicator(const Cluster& cluster, const CollectiveOptions& options) {
    nccl::Communicator comm = nccl::communicator_of(cluster, options.domains);
    comm.hop_more_us = options.hop_more_us;
    return comm;
}

std::uint64_t longest_of(const Flows& flows) {
    return flows.empty() ? 0 : std::ranges::max(flows, {}, &NicFlow::bytes).bytes;
}

}  // namespace

CollectiveModel::CollectiveModel(const Cluster& cluster, const CollectiveOptions& options)
    : cluster_(cluster),
      nccl_(cluster_,
            Layout(cluster_, options.domains, options.order, options.rails_aligned, options.seed),
            communicator(cluster_, options), options.channels),
      stack_(options.stack),
      step_us_(options.step_us),
      failures_(options.failures),
      leaf_us_(leaf_latency_us(cluster_)) {}

std::expected<std::unique_ptr<CollectiveModel>, std::string> CollectiveModel::make(
    const Cluster& cluster, const CollectiveOptions& asked) {
    if (const auto fault = find_fault(cluster)) {
        return std::unexpected(*fault);
    }
    CollectiveOptions options = asked;
    Cluster used = cluster;
    if (options.stack == Stack::kHost) {
        used.gpus_per_node = 1;
        used.nvlink = {.domain_gpus = 1};
        used.fabric.spec.hcas_per_host = 1;
        if (topo::topology_of(used.fabric.spec.shape).rails) {
            used.fabric.spec.shape = topo::Shape::kFatTree;
        }
    }
    if (const auto cut = find_cut_domain(used)) {
        return std::unexpected(*cut);
    }
    if (used.gpus() < 2) {
        return std::unexpected(fmt::format(
            "an operation needs two ranks, and {} has one {}: take more nodes", used.name,
            options.stack == Stack::kHost ? "node with a rank each" : "GPU"));
    }
    const std::uint32_t domains = used.gpus() / used.domain_gpus();
    if (options.domains == 0) {
        options.domains = domains;
    }
    if (options.domains > domains) {
        return std::unexpected(
            fmt::format("the cluster has {} NVLink domains, not {}: take {} or "
                        "fewer",
                        domains, options.domains, domains));
    }
    std::unique_ptr<CollectiveModel> model(new CollectiveModel(used, options));
    auto stage = make_stage(used, {.model = options.model, .failures = options.failures});
    if (!stage) {
        return std::unexpected(stage.error());
    }
    model->stage_ = *std::move(stage);
    if (options.collnet) {
        if (const auto started = model->start_collnet(); !started) {
            return std::unexpected(started.error());
        }
    }
    return model;
}

/// Lets NCCL choose algorithms in which switches aggregate. As in NCCL, it goes on without them if
/// their trees cannot be built. The error says why the cluster can have none.
std::expected<void, std::string> CollectiveModel::start_collnet() {
    if (!cluster_.fabric.sharp) {
        return std::unexpected(kNoSharp);
    }
    if (stack_ == Stack::kHost || layout().domains() < 2) {
        return std::unexpected(
            "CollNet joins NVLink domains, and there is one: leave it out, or take more nodes");
    }
    if (const auto levels = sharp_levels()) {
        nccl_.use_collnet();
    } else {
        collnet_fault_ = levels.error();
    }
    return {};
}

bool CollectiveModel::aggregates(const AlgorithmRow& row) const {
    return row.between == nullptr && (row.only_joins || layout().domains() > 1);
}

/// Returns why no cluster of this kind computes the operation by this algorithm.
std::optional<std::string> CollectiveModel::find_refusal(Op op, const AlgorithmRow& row) const {
    if ((row.operations & bit_of(op)) == 0) {
        return fmt::format("{} is no algorithm for {}", row.name, to_string(op));
    }
    if (stack_ == Stack::kHost) {
        return {};
    }
    if (row.needs_nvls && !nccl_.comm().nvls) {
        return "the GPUs' NVSwitches do not add up: take ring or tree";
    }
    if (row.only_joins && layout().domains() < 2) {
        return fmt::format("{} joins domains, and this is one: take nvls or ring", row.name);
    }
    if (row.needs_nvls && aggregates(row) && !cluster_.fabric.sharp) {
        return fmt::format(
            "{} needs switches that aggregate between domains: take nvls-tree, or set sharp in the "
            "cluster's fabric",
            row.name);
    }
    return {};
}

nccl::Choice CollectiveModel::choose(Op op, std::uint64_t bytes,
                                     std::optional<Protocol> protocol) const {
    return nccl_.choose(op, bytes, protocol);
}

nccl::Choice CollectiveModel::choose(Op op, std::uint64_t bytes, std::span<const Algorithm> among,
                                     std::span<const Protocol> protocols) const {
    std::optional<nccl::Choice> best;
    for (const Protocol protocol : protocols.empty() ? std::span(kProtocols) : protocols) {
        const auto found = nccl::choose(nccl_.comm(), op, bytes, among, protocol);
        if (found && (!best || found->expected_us < best->expected_us)) {
            best = found;
        }
    }
    if (best) {
        return *best;
    }
    // NCCL has no time for it: the first that was named, else what it takes without a choice.
    nccl::Choice other = choose(op, bytes);
    for (const Algorithm algorithm : among) {
        if (computes(algorithm, op)) {
            other = {algorithm, protocols.empty() ? other.protocol : protocols.back(), 0};
            break;
        }
    }
    return other;
}

std::expected<Timing, std::string> CollectiveModel::one_and_all(std::uint64_t bytes, bool gather) {
    const auto ranks_all = static_cast<double>(ranks());
    const std::uint32_t nics = layout().nics_per_domain();
    const std::uint64_t each =
        std::max<std::uint64_t>(bytes / std::max(layout().domains(), 1U) / nics, 1);
    Flows flows;
    for (std::uint32_t p = 1; p < layout().domains(); ++p) {
        for (std::uint32_t nic = 0; nic < nics; ++nic) {
            const std::uint32_t one = layout().end(0, nic);
            const std::uint32_t other = layout().end(p, nic);
            flows.push_back({gather ? other : one, gather ? one : other, each, 0});
        }
    }
    Timing timing;
    const nccl::Latencies& hops = nccl::kRingTuning.hops;
    timing.software_us =
        stack_ == Stack::kHost ? host_round_us(step_us_)
        : flows.empty()
            ? kDirectStartUs + (nccl_.comm().nvlink ? hops.nvlink : hops.pci).back()
            : kDirectStartUs + nccl::hop_us(Protocol::kSimple) + nccl_.comm().hop_more_us;
    if (!flows.empty()) {
        const auto played = stage_->play(flows);
        if (!played) {
            return std::unexpected(played.error());
        }
        timing.fabric_us = played->us;
        timing.software_us += stack_ == Stack::kHost ? played->latency_us
                                                     : std::max(played->latency_us - leaf_us_, 0.0);
    }
    // The GPU of the first rank has all data on its own NVLink.
    const double rate = stack_ == Stack::kHost ? 0 : nvlink_rate(cluster_);
    timing.nvlink_us =
        rate > 0 ? static_cast<double>(bytes) * (ranks_all - 1) / ranks_all / rate * 1e6 : 0;
    timing.us = timing.software_us + std::max(timing.fabric_us, timing.nvlink_us);
    timing.algbw = static_cast<double>(bytes) / timing.us / 1e3;
    timing.busbw = timing.algbw * (ranks_all - 1) / ranks_all;
    return timing;
}

std::optional<std::string> CollectiveModel::find_no_choice(Op op, Algorithm algorithm) const {
    nccl::Communicator comm = nccl_.comm();
    comm.collnet = true;
    if (stack_ == Stack::kHost || row_of(algorithm).tuning == nullptr ||
        nccl::choose(comm, op, 1, std::array{algorithm})) {
        return std::nullopt;
    }
    return fmt::format(
        "NCCL itself would not take {} for {} on these GPUs: the time is what it would have",
        to_string(algorithm), to_string(op));
}

bool CollectiveModel::considers_collnet(Op op) const {
    return std::ranges::any_of(algorithm_rows(), [&](const AlgorithmRow& row) {
        return row.tuning != nullptr && aggregates(row) && !find_no_choice(op, row.algorithm);
    });
}

std::expected<Parts, std::string> CollectiveModel::parts_of(Op op, const AlgorithmRow& row,
                                                            Protocol protocol,
                                                            std::uint64_t bytes) {
    if (stack_ == Stack::kHost) {
        return on_hosts(op, row, bytes);
    }
    if (aggregates(row)) {
        return sharp(op, row, bytes);
    }
    return nccl_.parts(op, row, protocol, bytes);
}

std::expected<Parts, std::string> CollectiveModel::on_hosts(Op op, const AlgorithmRow& row,
                                                            std::uint64_t bytes) {
    if (row.hosts_aggregate) {
        return sharp_on_hosts(bytes);
    }
    if (row.on_hosts == nullptr) {
        std::string others;
        for (const AlgorithmRow& each : algorithm_rows()) {
            if (each.on_hosts != nullptr || each.hosts_aggregate) {
                others += fmt::format("{}{}", others.empty() ? "" : ", ", each.name);
            }
        }
        return std::unexpected(
            fmt::format("{} needs GPUs: on hosts take one of {}", row.name, others));
    }
    return row.on_hosts({layout(), host_round_us(step_us_), leaf_us_}, op, bytes);
}

std::expected<Played, std::string> CollectiveModel::play(const Parts& parts, std::size_t round,
                                                         Op op, const AlgorithmRow& row,
                                                         Protocol protocol) {
    const Flows& flows = parts.rounds[round];
    const std::uint64_t longest = longest_of(flows);
    const auto key = std::tuple(op, &row, protocol, round);
    if (const auto known = known_.find(key);
        known != known_.end() && (known->second.bytes <= longest ||
                                  (known->second.played.by_rates && longest >= kLongFlow))) {
        Played played = known->second.played;
        played.us *= static_cast<double>(longest) / static_cast<double>(known->second.bytes);
        return played;
    }
    auto played = stage_->play(flows, parts.flow_bytes_per_s);
    if (played && (played->scaled || (played->by_rates && longest >= kLongFlow))) {
        known_[key] = {longest, *played};
    }
    return played;
}

std::expected<Timing, std::string> CollectiveModel::time(Op op, Algorithm algorithm,
                                                         std::uint64_t bytes,
                                                         std::optional<Protocol> wanted) {
    return time(op, row_of(algorithm), bytes, wanted);
}

std::expected<Timing, std::string> CollectiveModel::time(Op op, const AlgorithmRow& row,
                                                         std::uint64_t bytes,
                                                         std::optional<Protocol> wanted) {
    if (const auto refusal = find_refusal(op, row)) {
        return std::unexpected(*refusal);
    }
    if (wanted && *wanted != Protocol::kSimple && !row.has_protocols) {
        return std::unexpected(fmt::format("{} has the protocol Simple alone", row.name));
    }
    bytes = std::max<std::uint64_t>(bytes, 1);
    Timing timing;
    timing.protocol = wanted.value_or(
        row.tuning == nullptr ? Protocol::kSimple
                              : nccl::choose_protocol(nccl_.comm(), op, row.algorithm, bytes));
    const auto parts = parts_of(op, row, timing.protocol, bytes);
    if (!parts) {
        return std::unexpected(parts.error());
    }
    double latency_us = 0;
    for (std::size_t round = 0; round < parts->rounds.size(); ++round) {
        const auto played = play(*parts, round, op, row, timing.protocol);
        if (!played) {
            return std::unexpected(played.error());
        }
        timing.fabric_us += played->us * parts->repeats;
        if (stack_ == Stack::kHost) {
            // A long message takes two more ways: that of a request, and that of the READ.
            const double ways = longest_of(parts->rounds[round]) > kEagerBytes ? 3 : 1;
            timing.fabric_us += ways * played->latency_us * parts->repeats;
        }
        latency_us = std::max(latency_us, played->latency_us);
        timing.scaled = timing.scaled || played->scaled;
    }
    timing.fabric_us = std::max(timing.fabric_us, parts->fabric_us_min) + parts->streamed_us;
    timing.nvlink_us = parts->nvlink_us;
    timing.software_us = parts->software_us + parts->round_us * parts->repeats *
                                                  static_cast<double>(parts->rounds.size());
    if (stack_ == Stack::kNccl) {
        // NCCL's constants include the latency of a short path, within a leaf.
        timing.software_us += std::max(latency_us - leaf_us_, 0.0);
    }
    timing.us = timing.software_us + std::max(timing.fabric_us, timing.nvlink_us);
    timing.algbw = static_cast<double>(bytes) / timing.us / 1e3;
    timing.busbw = timing.algbw * bus_factor(op, ranks());
    return timing;
}

std::uint32_t CollectiveModel::far_node() const {
    const std::uint32_t domains = cluster_.nodes() / cluster_.domain_nodes();
    return std::max(domains / 2, 1U) * cluster_.domain_nodes();
}

std::expected<double, std::string> CollectiveModel::send_between_nodes(std::uint64_t bytes,
                                                                       std::uint32_t rails) {
    Flows flows;
    const std::uint32_t nics = cluster_.nics_per_node();
    const std::uint32_t far = far_node() * nics;
    for (std::uint32_t rail = 0; rail < std::min(rails, nics); ++rail) {
        flows.push_back({rail, far + rail, std::max<std::uint64_t>(bytes / rails, 1), 0});
    }
    const auto played = stage_->play(flows);
    if (!played) {
        return std::unexpected(played.error());
    }
    return played->us + played->latency_us;
}

std::expected<double, std::string> CollectiveModel::across_halves(std::uint64_t bytes) {
    Flows flows;
    const std::uint32_t count = layout().domains();
    const std::uint64_t each = std::max<std::uint64_t>(nccl_.nic_share(bytes), 1);
    for (std::uint32_t p = 0; p < count; ++p) {
        for (std::uint32_t nic = 0; nic < layout().nics_per_domain(); ++nic) {
            flows.push_back(
                {layout().end(p, nic), layout().end((p + count / 2) % count, nic), each, 0});
        }
    }
    const auto played = stage_->play(flows);
    if (!played) {
        return std::unexpected(played.error());
    }
    return played->us > 0 ? static_cast<double>(each) / played->us / 1e3 : 0;
}

}  // namespace softib::plan
