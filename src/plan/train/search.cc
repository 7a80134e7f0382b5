// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/search.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace softib::plan {

namespace {

constexpr std::uint32_t kLongSequence = 16'384;
constexpr std::uint32_t kInterleaveMax = 8;
constexpr std::uint32_t kMicroBatchMax = 16;

/// Returns the divisors of `whole` up to `most`, or `fixed` alone if it is not 0.
std::vector<std::uint32_t> divisors(std::uint32_t whole, std::uint32_t most, std::uint32_t fixed) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 1; i <= std::min(whole, most); ++i) {
        if (whole % i == 0) {
            found.push_back(i);
        }
    }
    return fixed != 0 ? std::vector<std::uint32_t>{fixed} : found;
}

std::vector<std::uint32_t> powers(std::uint32_t most, std::uint32_t fixed) {
    std::vector<std::uint32_t> found;
    for (std::uint32_t i = 1; i <= most; i *= 2) {
        found.push_back(i);
    }
    return fixed != 0 ? std::vector<std::uint32_t>{fixed} : found;
}

/// Lists mappings by trying the values of one field after the other.
class Enumeration {
  public:
    Enumeration(const Model& model, const Cluster& cluster, const SearchSpace& space)
        : model_(model), cluster_(cluster), space_(space) {}

    std::vector<Mapping> all() {
        const std::uint32_t context_most = space_.base.sequence >= kLongSequence ? 16 : 1;
        for (const std::uint32_t tp : powers(cluster_.domain_gpus(), space_.tp)) {
            for (const std::uint32_t cp : powers(context_most, space_.cp)) {
                for (const std::uint32_t pp : stages()) {
                    Mapping mapping = space_.base;
                    mapping.tp = tp;
                    mapping.cp = cp;
                    mapping.pp = pp;
                    const std::uint64_t one = std::uint64_t{tp} * cp * pp;
                    if (one <= mapping.gpus && mapping.gpus % one == 0) {
                        with_experts(mapping);
                    }
                }
            }
        }
        return std::move(found_);
    }

  private:
    std::vector<std::uint32_t> stages() const {
        std::vector<std::uint32_t> counts = divisors(model_.layers, model_.layers, space_.pp);
        if (space_.pp == 0) {  // Also numbers that divide if embedding and logits count as layers.
            for (const std::uint32_t more : divisors(model_.layers + 2, model_.layers, 0)) {
                counts.push_back(more);
            }
            std::ranges::sort(counts);
            counts.erase(std::ranges::unique(counts).begin(), counts.end());
        }
        return counts;
    }

    void with_experts(Mapping mapping) {
        const std::uint32_t whole =
            model_.experts == 0 ? 1 : std::gcd(model_.experts, mapping.replicas());
        for (const std::uint32_t ep : divisors(whole, whole, space_.ep)) {
            mapping.ep = ep;
            for (const std::uint32_t micro : powers(kMicroBatchMax, space_.micro_batch)) {
                mapping.micro_batch = micro;
                with_chunks(mapping);
            }
        }
    }

    void with_chunks(Mapping mapping) {
        const std::uint32_t most = mapping.pp == 1 ? 1 : kInterleaveMax;
        for (std::uint32_t chunks = 1; chunks <= most; ++chunks) {
            if (space_.interleave != 0 && chunks != space_.interleave) {
                continue;
            }
            mapping.interleave = chunks;
            const std::uint32_t count = mapping.virtual_stages();
            if (model_.layers % count != 0 && (model_.layers + 2) % count != 0) {
                continue;
            }
            mapping.uneven = model_.layers % count != 0;
            with_states(mapping);
        }
    }

    void with_states(Mapping mapping) {
        for (const std::uint32_t zero : {1U, 3U}) {
            mapping.zero = space_.zero.value_or(zero);
            for (const Recompute recompute :
                 {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
                mapping.recompute = space_.recompute.value_or(recompute);
                const bool scores = mapping.attention == AttentionKernel::kUnfused;
                const bool useful = mapping.recompute != Recompute::kSelective || scores ||
                                    space_.recompute.has_value();
                if (useful && !find_fault(model_, cluster_, mapping)) {
                    found_.push_back(mapping);
                }
                if (space_.recompute) {
                    break;
                }
            }
            if (space_.zero || mapping.pp > 1 || mapping.replicas() == 1) {
                break;
            }
        }
    }

    const Model& model_;
    const Cluster& cluster_;
    const SearchSpace& space_;
    std::vector<Mapping> found_;
};

}  // namespace

std::vector<Mapping> candidates(const Model& model, const Cluster& cluster,
                                const SearchSpace& space) {
    return Enumeration(model, cluster, space).all();
}

std::optional<Candidate> try_mapping(const Model& model, const Cluster& cluster,
                                     const Mapping& mapping, const Communication& communication) {
    if (!memory_use(model, cluster.gpu, mapping).fits()) {
        return std::nullopt;
    }
    const Step step = time_step(model, cluster, mapping, communication);
    const double exposed =
        std::accumulate(step.parts.exposed.begin(), step.parts.exposed.end(), 0.0);
    return Candidate{.mapping = mapping,
                     .seconds = step.seconds,
                     .mfu = step.mfu,
                     .bubble_share = step.bubble_share,
                     .exposed_share = exposed / step.seconds,
                     .memory_bytes = step.memory.total()};
}

std::vector<Candidate> best_of(std::vector<Candidate> tried, std::size_t most) {
    std::ranges::stable_sort(tried, {}, [](const Candidate& candidate) {
        return std::tuple(candidate.seconds, candidate.memory_bytes);
    });
    tried.resize(std::min(tried.size(), most));
    return tried;
}

}  // namespace softib::plan
