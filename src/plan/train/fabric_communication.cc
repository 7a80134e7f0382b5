// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/fabric_communication.h"

#include <algorithm>
#include <cmath>

namespace softib::plan {

namespace {

/// Bytes that a rank sends when a set of groups is played.
constexpr double kPlayedBytes = 64 << 20;

/// Returns the bytes that a rank sends in an exchange, as its pattern counts them.
double sent_bytes(Exchange exchange, double bytes, double ranks, bool collnet) {
    switch (exchange) {
        case Exchange::kAllReduce:
            return collnet ? bytes : 2 * bytes * (ranks - 1) / ranks;
        case Exchange::kReduceScatter:
        case Exchange::kAllGather:
            return bytes * (ranks - 1) / ranks;
        case Exchange::kAllToAll:
        case Exchange::kSend:
            break;
    }
    return bytes;
}

}  // namespace

std::expected<std::unique_ptr<FabricCommunication>, std::string> FabricCommunication::make(
    const Cluster& cluster, std::uint32_t gpus, const PlacementOptions& options) {
    if (const auto fault = find_fault(cluster)) {
        return std::unexpected(*fault);
    }
    auto stage = make_stage(cluster, {.model = options.model});
    if (!stage) {
        return std::unexpected(stage.error());
    }
    return std::unique_ptr<FabricCommunication>(
        new FabricCommunication(cluster, gpus, options, *std::move(stage)));
}

FabricCommunication::FabricCommunication(const Cluster& cluster, std::uint32_t gpus,
                                         const PlacementOptions& options,
                                         std::unique_ptr<Stage> stage)
    : gpus_(gpus),
      domain_gpus_(cluster.domain_gpus()),
      rails_aligned_(options.rails_aligned),
      collnet_(cluster.fabric.collnet),
      links_(cluster),
      layout_(cluster, cluster.gpus() / cluster.domain_gpus(), options.order, options.rails_aligned,
              options.seed),
      leaf_s_(leaf_latency_us(cluster) * 1e-6),
      stage_(std::move(stage)) {}

ExchangeCost FabricCommunication::cost(Exchange exchange, double bytes,
                                       std::span<const std::uint32_t> ranks) const {
    ExchangeCost cost = links_.cost(exchange, bytes, ranks);
    if (ranks.size() < 2 || bytes <= 0 ||
        ranks.front() / domain_gpus_ == ranks.back() / domain_gpus_) {
        return cost;
    }
    const Phase& phase = phase_of(pattern_of(exchange), ranks);
    const double stream = phase.seconds_per_byte *
                          sent_bytes(exchange, bytes, static_cast<double>(ranks.size()), collnet_);
    cost.seconds += phase.latency_s + std::max(0.0, stream - cost.stream_s);
    cost.stream_s = std::max(cost.stream_s, stream);
    return cost;
}

FabricCommunication::Pattern FabricCommunication::pattern_of(Exchange exchange) {
    return exchange == Exchange::kSend       ? Pattern::kSend
           : exchange == Exchange::kAllToAll ? Pattern::kAllToAll
                                             : Pattern::kRing;
}

std::optional<FabricLoad> FabricCommunication::load(const std::vector<Traffic>& traffic,
                                                    double seconds) const {
    std::optional<Carried> all;
    for (const Traffic& each : traffic) {
        if (each.bytes <= 0 || each.ranks.size() < 2) {
            continue;
        }
        const Flows flows = flows_of(pattern_of(each.exchange), each.ranks);
        const auto carried = stage_->carried(flows);
        double played = 0;
        for (const NicFlow& flow : flows) {
            played += static_cast<double>(flow.bytes);
        }
        if (!carried || played <= 0) {
            return std::nullopt;
        }
        const double factor = each.bytes * gpus_ / played;
        const bool first = !all;
        all = first ? carried : all;
        for (std::size_t i = 0; i < all->ports.size(); ++i) {
            all->ports[i].bytes =
                (first ? 0 : all->ports[i].bytes) + factor * carried->ports[i].bytes;
        }
    }
    return all ? std::optional(fabric_load(*all->fabric, all->ports, seconds)) : std::nullopt;
}

const FabricCommunication::Phase& FabricCommunication::phase_of(
    Pattern pattern, std::span<const std::uint32_t> ranks) const {
    const auto [found, added] = phases_.try_emplace(
        std::pair(pattern, std::vector<std::uint32_t>(ranks.begin(), ranks.end())));
    if (added) {
        const auto played = stage_->play(flows_of(pattern, ranks));
        if (played) {
            found->second = {played->us * 1e-6 / kPlayedBytes,
                             std::max(0.0, played->latency_us * 1e-6 - leaf_s_)};
        } else {
            fault_ = played.error();
        }
    }
    return found->second;
}

/// Returns the first ranks of all groups of the job that have the same shape as that of rank 0.
std::vector<std::uint32_t> FabricCommunication::bases_of(
    std::span<const std::uint32_t> ranks) const {
    std::vector<std::uint32_t> bases;
    std::vector<bool> taken(gpus_, false);
    for (std::uint32_t base = 0; base + ranks.back() < gpus_; ++base) {
        const bool fits =
            std::ranges::none_of(ranks, [&](std::uint32_t rank) { return taken[base + rank]; });
        if (fits) {
            bases.push_back(base);
            std::ranges::for_each(ranks, [&](std::uint32_t rank) { taken[base + rank] = true; });
        }
    }
    return bases;
}

Flows FabricCommunication::flows_of(Pattern pattern, std::span<const std::uint32_t> ranks) const {
    Flows flows;
    for (const std::uint32_t base : bases_of(ranks)) {
        std::vector<std::uint32_t> group;
        std::vector<Members> domains;
        for (const std::uint32_t rank : ranks) {
            group.push_back(base + rank);
            if (domains.empty() ||
                domains.back().back() / domain_gpus_ != group.back() / domain_gpus_) {
                domains.emplace_back();
            }
            domains.back().push_back(group.back());
        }
        switch (pattern) {
            case Pattern::kRing:
                add_ring(domains, flows);
                break;
            case Pattern::kAllToAll:
                add_all_to_all(domains, ranks.size(), flows);
                break;
            case Pattern::kSend:
                add_sends(group, flows);
                break;
        }
    }
    return flows;
}

/// Adds the flows of rings through all ranks, one ring for each rank of a domain: each sends its
/// part to the next domain.
void FabricCommunication::add_ring(const std::vector<Members>& domains, Flows& flows) const {
    for (std::size_t i = 0; i < domains.size() && domains.size() > 1; ++i) {
        const Members& here = domains[i];
        const Members& next = domains[(i + 1) % domains.size()];
        const std::size_t rings = std::min(here.size(), next.size());
        for (std::size_t ring = 0; ring < rings; ++ring) {
            add_flow(here[ring], next[ring], kPlayedBytes / static_cast<double>(rings), flows);
        }
    }
}

/// Adds the flows of an all-to-all. All that the ranks of a domain have for one rank of another is
/// one flow.
void FabricCommunication::add_all_to_all(const std::vector<Members>& domains, std::size_t ranks,
                                         Flows& flows) const {
    const double each = kPlayedBytes / static_cast<double>(ranks);
    for (const Members& here : domains) {
        for (const Members& there : domains) {
            for (std::size_t i = 0; i < there.size() && &here != &there; ++i) {
                add_flow(here[i % here.size()], there[i], each * static_cast<double>(here.size()),
                         flows);
            }
        }
    }
}

void FabricCommunication::add_sends(std::span<const std::uint32_t> ranks, Flows& flows) const {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const std::uint32_t next = ranks[(i + 1) % ranks.size()];
        if (ranks[i] / domain_gpus_ != next / domain_gpus_) {
            add_flow(ranks[i], next, kPlayedBytes, flows);
        }
    }
}

void FabricCommunication::add_flow(std::uint32_t from, std::uint32_t to, double bytes,
                                   Flows& flows) const {
    const std::uint32_t nics = layout_.nics_per_domain();
    const std::uint32_t gpus = layout_.gpus_per_domain();
    const auto nic_of = [&](std::uint32_t rank) { return rank % domain_gpus_ * nics / gpus; };
    const std::uint32_t each = std::max(nics / gpus, 1U);  // NICs of a GPU.
    for (std::uint32_t i = 0; i < each; ++i) {
        const std::uint32_t in = nic_of(to) + i;
        const std::uint32_t out = rails_aligned_ ? in : nic_of(from) + i;
        flows.push_back(
            {layout_.end(from / domain_gpus_, out),
             layout_.end(to / domain_gpus_, rails_aligned_ ? in : layout_.nic_behind(in)),
             static_cast<std::uint64_t>(std::ceil(bytes / each)), 0});
    }
}

}  // namespace softib::plan
