// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "plan/train/communication.h"
#include "plan/train/memory.h"
#include "plan/train/step.h"

namespace softib::plan {

namespace {

constexpr std::uint64_t kTokensDefault = 4 << 20;  ///< Tokens of a step if no batch is given.

Mapping mapping_of(const Model& model, const JobWish& wish) {
    Mapping mapping = wish.framework;
    mapping.gpus = wish.gpus;
    mapping.tp = std::max(wish.tp, 1U);
    mapping.pp = std::max(wish.pp, 1U);
    mapping.interleave = std::max(wish.interleave, 1U);
    mapping.cp = std::max(wish.cp, 1U);
    mapping.ep = std::max(wish.ep, 1U);
    mapping.zero = wish.zero.value_or(wish.framework.zero);
    mapping.batch = wish.batch;
    mapping.micro_batch = std::max(wish.micro_batch, 1U);
    mapping.sequence = wish.sequence != 0 ? wish.sequence : model.sequence;
    mapping.recompute = wish.recompute.value_or(Recompute::kNone);
    return mapping;
}

/// Returns the mapping with this many chunks of a stage, as it would run; std::nullopt if it
/// cannot.
std::optional<Mapping> with_chunks(const Model& model, const Cluster& cluster, const JobWish& wish,
                                   Mapping mapping, std::uint32_t chunks) {
    mapping.interleave = chunks;
    const std::uint32_t stages = mapping.virtual_stages();
    // Uneven stages are what users say, with the embedding and the logits as two layers.
    if (chunks > 1 &&
        (mapping.uneven ? model.layers % stages == 0 || (model.layers + 2) % stages != 0
                        : model.layers % stages != 0)) {
        return std::nullopt;
    }
    if (wish.preset != nullptr) {
        apply_framework(*wish.preset, wish.given, mapping);
        mapping.zero = wish.zero.value_or(mapping.zero);
    }
    if (find_fault(model, cluster, mapping)) {
        return std::nullopt;
    }
    if (!wish.recompute) {
        recompute_least(model, cluster.gpu, mapping);
    }
    return memory_use(model, cluster.gpu, mapping).fits() ? std::optional(mapping) : std::nullopt;
}

/// Returns the time of a step by rates and latencies. That of many micro-batches goes on from those
/// of few: once a pipeline is full, each further round of them takes as long as the one before.
double rough_seconds(const Model& model, const Cluster& cluster, const Mapping& mapping,
                     const LinkCommunication& links) {
    constexpr std::uint32_t kRounds = 2;
    const std::uint32_t rounds = mapping.micro_batches() / mapping.pp;
    if (rounds <= kRounds + 2 || mapping.micro_batches() % mapping.pp != 0) {
        return time_step(model, cluster, mapping, links).seconds;
    }
    const auto seconds = [&](std::uint32_t few) {
        Mapping part = mapping;
        part.batch = mapping.batch / rounds * few;
        return time_step(model, cluster, part, links).seconds;
    };
    const double first = seconds(kRounds);
    return first + (seconds(kRounds + 1) - first) * (rounds - kRounds);
}

/// Gives a mapping the fewest chunks of a stage with which its step, by rates and latencies, is
/// about as quick as with any number that divides the layers and fits in memory.
void choose_chunks(const Model& model, const Cluster& cluster, const JobWish& wish,
                   Mapping& mapping) {
    constexpr double kAbout = 1.01;
    const LinkCommunication links(cluster);
    std::vector<std::pair<Mapping, double>> tried;
    for (std::uint32_t chunks = 1; chunks <= (model.layers + 2) / mapping.pp; ++chunks) {
        if (const auto with = with_chunks(model, cluster, wish, mapping, chunks)) {
            tried.emplace_back(*with, rough_seconds(model, cluster, *with, links));
        }
    }
    const auto seconds = &std::pair<Mapping, double>::second;
    if (tried.empty()) {
        return;
    }
    const double quickest = std::ranges::min(tried, {}, seconds).second;
    mapping = std::ranges::find_if(tried, [&](const auto& each) {
                  return each.second <= kAbout * quickest;
              })->first;
}

}  // namespace

JobWish with_defaults(JobWish wish) {
    if (wish.preset != nullptr) {
        wish.framework.interleave = std::max(wish.interleave, 1U);
        apply_framework(*wish.preset, wish.given, wish.framework);
    }
    return wish;
}

std::uint32_t usual_batch(const Mapping& mapping, std::uint64_t share) {
    const std::uint64_t sequences = std::max<std::uint64_t>(kTokensDefault / mapping.sequence, 1);
    return static_cast<std::uint32_t>((sequences + share - 1) / share * share);
}

Job job_to_time(Model model, Cluster cluster, const JobWish& wish) {
    Mapping mapping = mapping_of(model, wish);
    const std::uint64_t one = std::uint64_t{mapping.tp} * mapping.pp * mapping.cp * mapping.ep;
    if (mapping.gpus == 0) {
        // More than there are is refused by that number.
        const std::uint64_t gpus = std::max<std::uint64_t>(cluster.gpus() / one * one, one);
        mapping.gpus = static_cast<std::uint32_t>(std::min<std::uint64_t>(gpus, UINT32_MAX));
    }
    const std::uint64_t replica = std::uint64_t{mapping.tp} * mapping.pp * mapping.cp;
    if (mapping.batch == 0 && mapping.gpus >= replica) {
        mapping.batch =
            usual_batch(mapping, std::uint64_t{mapping.dp()} * mapping.micro_batch * mapping.pp);
    }
    const bool cuts = wish.preset == nullptr || wish.preset->interleaves;
    if (wish.interleave == 0 && mapping.pp > 1 && cuts && mapping.gpus >= replica) {
        choose_chunks(model, cluster, wish, mapping);
    }
    if (!wish.recompute && !find_fault(model, cluster, mapping)) {
        recompute_least(model, cluster.gpu, mapping);
    }
    return {std::move(model), std::move(cluster), mapping};
}

Job job_to_search(Model model, Cluster cluster, const JobWish& wish) {
    Mapping mapping = mapping_of(model, wish);
    if (mapping.gpus == 0) {
        mapping.gpus = cluster.gpus();
    }
    if (mapping.batch == 0) {
        mapping.batch = usual_batch(mapping, mapping.gpus);
    }
    return {std::move(model), std::move(cluster), mapping};
}

SearchSpace space_of(const Job& job, const JobWish& wish) {
    return {.base = job.mapping,
            .tp = wish.tp,
            .pp = wish.pp,
            .interleave = wish.interleave,
            .cp = wish.cp,
            .ep = wish.ep,
            .micro_batch = wish.micro_batch,
            .zero = wish.zero || wish.preset == nullptr ? wish.zero : job.mapping.zero,
            .chunked_sends = wish.preset != nullptr && wish.preset->chunked_sends &&
                             std::ranges::none_of(wish.given,
                                                  [](std::string_view key) {
                                                      return key == "overlap_pp" ||
                                                             key == "no_overlap_pp";
                                                  }),
            .recompute = wish.recompute};
}

std::string why_nothing(const Job& job, std::uint64_t divided) {
    if (divided != 0) {
        return fmt::format(
            "none of {} mappings of {} fits in the {} GiB of {} {}; try more --gpus, or a shorter "
            "--sequence",
            divided, job.model.name, job.cluster.gpu.memory_bytes >> 30, job.mapping.gpus,
            job.cluster.gpu.name);
    }
    if (auto fault = find_fault(job.model, job.cluster, job.mapping)) {
        return *std::move(fault);
    }
    return fmt::format(
        "no mapping divides {} GPUs and a batch of {}; try --gpus {} or another "
        "--batch",
        job.mapping.gpus, job.mapping.batch, std::max(job.mapping.gpus / 64 * 64, 8U));
}

}  // namespace softib::plan
