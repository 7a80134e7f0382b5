// SPDX-License-Identifier: BSD-2-Clause
#include "plan/train/search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

namespace softib::plan {

namespace {

/// Mappings that are timed before the limit for all others is tightened.
constexpr std::size_t kRound = 64;
/// The model of the fabric times at most this many mappings for each one that is returned, and this
/// many if few are.
constexpr std::size_t kRefinedMost = 10;
constexpr std::size_t kRefinedLeast = 200;

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

/// Lists mappings by trying the values of one field after the other.
class Enumeration {
  public:
    Enumeration(const Model& model, const Cluster& cluster, const SearchSpace& space)
        : model_(model), cluster_(cluster), space_(space) {}

    std::vector<Mapping> all() {
        const std::uint32_t gpus = space_.base.gpus;
        for (const std::uint32_t tp : divisors(gpus, model_.heads, space_.tp)) {
            for (const std::uint32_t cp : divisors(gpus / tp, gpus / tp, space_.cp)) {
                const std::uint32_t left = gpus / tp / cp;
                for (const std::uint32_t pp : divisors(left, model_.layers + 2, space_.pp)) {
                    Mapping mapping = space_.base;
                    mapping.tp = tp;
                    mapping.cp = cp;
                    mapping.pp = pp;
                    if (gpus % (std::uint64_t{tp} * cp * pp) == 0 &&
                        gpus >= std::uint64_t{tp} * cp * pp) {
                        with_experts(mapping);
                    }
                }
            }
        }
        return std::move(found_);
    }

  private:
    void with_experts(Mapping mapping) {
        const std::uint32_t whole =
            model_.experts == 0 ? 1 : std::gcd(model_.experts, mapping.stage_ranks());
        const std::uint32_t share = mapping.batch / mapping.dp();
        for (const std::uint32_t ep : divisors(whole, whole, space_.ep)) {
            mapping.ep = ep;
            for (const std::uint32_t micro : divisors(share, share, space_.micro_batch)) {
                mapping.micro_batch = micro;
                with_chunks(mapping);
            }
        }
    }

    void with_chunks(Mapping mapping) {
        const std::uint32_t most = mapping.pp == 1 ? 1 : (model_.layers + 2) / mapping.pp;
        for (std::uint32_t chunks = 1; chunks <= most; ++chunks) {
            if (space_.interleave == 0 || chunks == space_.interleave) {
                mapping.interleave = chunks;
                mapping.uneven = model_.layers % mapping.virtual_stages() != 0;
                mapping.overlap_pp = space_.chunked_sends ? chunks > 1 : space_.base.overlap_pp;
                with_states(mapping);
            }
        }
    }

    void with_states(Mapping mapping) {
        for (std::uint32_t zero = 0; zero <= 3; ++zero) {
            mapping.zero = space_.zero.value_or(zero);
            // A single replica has nobody to divide with.
            const bool tried = space_.zero.has_value() || zero == 1 ||
                               (mapping.replicas() > 1 && (zero == 0 || mapping.pp == 1));
            mapping.recompute = Recompute::kNone;
            if (tried && !find_fault(model_, cluster_, mapping)) {
                with_recomputation(mapping);
            }
            if (space_.zero) {
                break;
            }
        }
    }

    void with_recomputation(Mapping mapping) {
        if (space_.recompute) {
            mapping.recompute = *space_.recompute;
            found_.push_back(mapping);
            return;
        }
        for (const Recompute recompute :
             {Recompute::kNone, Recompute::kSelective, Recompute::kFull}) {
            mapping.recompute = recompute;
            found_.push_back(mapping);
        }
    }

    const Model& model_;
    const Cluster& cluster_;
    const SearchSpace& space_;
    std::vector<Mapping> found_;
};

TimePs end_of(const Candidate& candidate) {
    return static_cast<TimePs>(std::llround(candidate.seconds * 1e12));
}

/// Runs one search.
class Search {
  public:
    Search(const Model& model, const Cluster& cluster, const SearchSpace& space,
           const SearchRun& run)
        : model_(model),
          cluster_(cluster),
          run_(run),
          links_(cluster),
          all_(candidates(model, cluster, space)) {}

    std::expected<SearchResult, std::string> result() {
        result_.mappings = all_.size();
        sort_out();
        if (!run_.network) {
            time_all(run_.top, kNever);
            result_.best = best_of(std::move(timed_), run_.top);
        } else if (auto refined = refine(); !refined) {
            return std::unexpected(refined.error());
        }
        return std::move(result_);
    }

  private:
    /// A mapping that fits, and the least time of its step.
    struct Bounded {
        TimePs least = 0;
        std::size_t mapping = 0;
        auto operator<=>(const Bounded&) const = default;
    };

    bool stopped() {
        result_.stopped |= run_.stop && run_.stop();
        return result_.stopped;
    }

    /// Does work on the caller's threads. `done` and `all` count mappings; a call is about `unit`.
    void each(SearchStage stage, std::size_t count, std::size_t unit, std::size_t done,
              std::size_t all, const SearchRun::Work& work) {
        const auto unless_stopped = [&](std::size_t i) {
            if (!run_.stop || !run_.stop()) {
                work(i);
            }
        };
        const auto watch = [&](std::size_t more) {
            if (run_.tell) {
                run_.tell(stage, std::min(done + more * unit, all), all);
            }
        };
        if (run_.each) {
            return run_.each(count, unless_stopped, watch);
        }
        for (std::size_t i = 0; i < count; ++i) {
            unless_stopped(i);
        }
    }

    /// Finds the mappings that fit, and sorts them by their least times.
    void sort_out() {
        constexpr std::size_t kBlock = 256;
        std::vector<TimePs> least(all_.size(), kNever);
        const std::size_t blocks = (all_.size() + kBlock - 1) / kBlock;
        each(SearchStage::kSorting, blocks, kBlock, 0, all_.size(), [&](std::size_t block) {
            const std::size_t end = std::min((block + 1) * kBlock, all_.size());
            for (std::size_t i = block * kBlock; i < end; ++i) {
                if (memory_use(model_, cluster_.gpu, all_[i]).fits()) {
                    least[i] = least_time(model_, cluster_, all_[i], links_);
                }
            }
        });
        for (std::size_t i = 0; i < least.size(); ++i) {
            if (least[i] != kNever) {
                bounded_.push_back({least[i], i});
            }
        }
        std::ranges::sort(bounded_);
        result_.fitting = bounded_.size();
    }

    /// Returns the time of the slowest of the `most` quickest mappings so far; kNever if there are
    /// fewer.
    TimePs slowest_of(std::size_t most) const {
        if (timed_.size() < most) {
            return kNever;
        }
        std::vector<TimePs> ends;
        std::ranges::transform(timed_, std::back_inserter(ends), end_of);
        std::ranges::nth_element(ends, ends.begin() + static_cast<std::ptrdiff_t>(most) - 1);
        return ends[most - 1];
    }

    /// Times mappings by rates and latencies until all others are slower than the `most` quickest,
    /// or than `limit`.
    void time_all(std::size_t most, TimePs limit) {
        while (next_ < bounded_.size() && !stopped()) {
            limit = std::min(limit, slowest_of(most));
            const auto end =
                std::ranges::upper_bound(bounded_, limit, {}, &Bounded::least) - bounded_.begin();
            if (next_ >= static_cast<std::size_t>(end)) {
                return;
            }
            const std::size_t left = static_cast<std::size_t>(end) - next_;
            std::vector<std::optional<Candidate>> tried(std::min(kRound, left));
            each(SearchStage::kTiming, tried.size(), 1, next_, next_ + left, [&](std::size_t i) {
                tried[i] = try_mapping(model_, cluster_, all_[bounded_[next_ + i].mapping], links_);
            });
            next_ += tried.size();
            for (const auto& one : tried) {
                if (one) {
                    timed_.push_back(*one);
                }
            }
        }
    }

    /// Returns how many mappings are quicker than `limit` by rates and latencies, beside the
    /// `known` that the model of the fabric has timed, which are the quickest.
    std::uint64_t count_open(TimePs limit, std::size_t known) const {
        const auto quicker = static_cast<std::uint64_t>(std::ranges::count_if(
            timed_, [&](const Candidate& each) { return end_of(each) < limit; }));
        return quicker - std::min<std::uint64_t>(quicker, known);
    }

    /// Times the quickest again on the model of the fabric, where exchanges take as long as by
    /// rates and latencies or longer: until every other mapping takes longer even by those than
    /// each one that is returned.
    std::expected<void, std::string> refine() {
        const std::size_t first = 2 * run_.top;
        const std::size_t most = std::max(kRefinedMost * run_.top, kRefinedLeast);
        time_all(first, kNever);
        if (timed_.empty() || stopped()) {
            result_.best = best_of(std::move(timed_), run_.top);
            return {};
        }
        const auto network = run_.network();
        if (!network) {
            return std::unexpected(network.error());
        }
        std::vector<Candidate> refined;
        std::size_t wanted = first;
        while (!stopped()) {
            const std::vector<Candidate> order = best_of(timed_, most);
            wanted = std::min(wanted, order.size());
            for (std::size_t i = refined.size(); i < wanted && !stopped(); ++i) {
                if (run_.tell) {
                    run_.tell(SearchStage::kFabric, i, wanted);
                }
                refined.push_back(*try_mapping(model_, cluster_, order[i].mapping, **network));
                if (auto fault = (*network)->fault()) {
                    return std::unexpected(*std::move(fault));
                }
            }
            if (refined.empty()) {
                break;
            }
            const std::vector<Candidate> best = best_of(refined, run_.top);
            const TimePs slowest = best.size() < run_.top ? kNever : end_of(best.back());
            time_all(most, slowest);
            result_.open = count_open(end_of(best.front()), refined.size());
            result_.open_rows = count_open(slowest, refined.size());
            if (result_.open_rows == 0 || wanted >= most || wanted >= timed_.size()) {
                break;
            }
            wanted = std::min(most, wanted + run_.top);
        }
        result_.refined = refined.size();
        result_.best = best_of(std::move(refined), run_.top);
        return {};
    }

    const Model& model_;
    const Cluster& cluster_;
    const SearchRun& run_;
    LinkCommunication links_;
    std::vector<Mapping> all_;
    std::vector<Bounded> bounded_ = {};  ///< The quickest bound first.
    std::size_t next_ = 0;               ///< The first of `bounded_` that was not timed.
    std::vector<Candidate> timed_ = {};  ///< By rates and latencies.
    SearchResult result_ = {};
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

std::expected<SearchResult, std::string> search(const Model& model, const Cluster& cluster,
                                                const SearchSpace& space, const SearchRun& run) {
    return Search(model, cluster, space, run).result();
}

}  // namespace softib::plan
