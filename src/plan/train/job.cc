// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "plan/train/memory.h"

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
    mapping.zero = wish.zero.value_or(1);
    mapping.batch = wish.batch;
    mapping.micro_batch = std::max(wish.micro_batch, 1U);
    mapping.sequence = wish.sequence != 0 ? wish.sequence : model.sequence;
    mapping.recompute = wish.recompute.value_or(Recompute::kNone);
    return mapping;
}

}  // namespace

std::uint32_t usual_batch(const Mapping& mapping, std::uint64_t share) {
    const std::uint64_t sequences = std::max<std::uint64_t>(kTokensDefault / mapping.sequence, 1);
    return static_cast<std::uint32_t>((sequences + share - 1) / share * share);
}

Job job_to_time(Model model, Cluster cluster, const JobWish& wish) {
    Mapping mapping = mapping_of(model, wish);
    const std::uint64_t one = std::uint64_t{mapping.tp} * mapping.pp * mapping.cp * mapping.ep;
    if (mapping.gpus == 0) {
        mapping.gpus = static_cast<std::uint32_t>(cluster.gpus() / one * one);
    }
    const std::uint64_t replica = std::uint64_t{mapping.tp} * mapping.pp * mapping.cp;
    if (mapping.batch == 0 && mapping.gpus >= replica) {
        mapping.batch = usual_batch(mapping, std::uint64_t{mapping.dp()} * mapping.micro_batch *
                                                 (mapping.interleave > 1 ? mapping.pp : 1));
    }
    if (!wish.recompute && !find_fault(model, cluster, mapping)) {
        mapping.recompute = least_recompute(model, cluster.gpu, mapping);
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
            .zero = wish.zero,
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
