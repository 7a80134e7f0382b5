// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/training.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "plan/train/memory.h"

namespace softib::plan::trace {

namespace {

constexpr double kActivationBytes = 2;
constexpr double kGatheredBytes = 2;  ///< Of a parameter.

/// The group of every rank, from that of rank 0: groups that are alike stand at every place that
/// the ranks of one leave free.
std::vector<std::vector<std::uint32_t>> groups_like(const std::vector<std::uint32_t>& first,
                                                    std::uint32_t ranks) {
    std::vector<std::vector<std::uint32_t>> groups;
    std::vector<bool> has(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        if (has[rank]) {
            continue;
        }
        std::vector<std::uint32_t>& group = groups.emplace_back();
        for (const std::uint32_t member : first) {
            SOFTIB_CHECK(rank + member < ranks && !has[rank + member]);
            group.push_back(rank + member);
            has[rank + member] = true;
        }
    }
    return groups;
}

/// The ranks that have the same experts: every ep-th of those that share all other parameters.
std::vector<std::vector<std::uint32_t>> expert_groups(
    const std::vector<std::vector<std::uint32_t>>& replicas, std::uint32_t ep) {
    std::vector<std::vector<std::uint32_t>> groups;
    for (const std::vector<std::uint32_t>& ranks : replicas) {
        for (std::uint32_t first = 0; first < ep; ++first) {
            std::vector<std::uint32_t>& group = groups.emplace_back();
            for (std::size_t i = first; i < ranks.size(); i += ep) {
                group.push_back(ranks[i]);
            }
        }
    }
    return groups;
}

class StepJob {
  public:
    StepJob(const Model& model, const Mapping& mapping, const Step& step)
        : model_(model),
          mapping_(mapping),
          step_(step),
          groups_(groups_of(mapping)),
          first_(first_layers(model, mapping)) {}

    Job run() {
        job_.name = model_.name;
        job_.programs.resize(mapping_.gpus);
        for (std::uint32_t rank = 0; rank < mapping_.gpus; ++rank) {
            job_.program_of.push_back(rank);
        }
        if (mapping_.replicas() > 1) {
            const auto replicas = groups_like(groups_.data, mapping_.gpus);
            shared_ = job_.add_communicator("data", replicas);
            experts_ = job_.add_communicator("expert data", expert_groups(replicas, mapping_.ep));
        }
        passes_.resize(mapping_.pp);
        for (const PassEvent& event : step_.played.events) {
            passes_[event.stage].push_back(event);
        }
        for (std::uint32_t rank = 0; rank < mapping_.gpus; ++rank) {
            add_rank(rank);
        }
        return std::move(job_);
    }

  private:
    std::uint32_t stage_stride() const {
        return groups_.pipeline.size() > 1 ? groups_.pipeline[1] : 1;
    }
    std::uint32_t stage_of(std::uint32_t rank) const { return rank / stage_stride() % mapping_.pp; }

    struct RankWork {
        Program& program;
        std::uint32_t rank = 0;
        std::uint32_t stage = 0;
        std::uint32_t last = kNone;  ///< Pass, or what it must not overtake.
        /// By chunk and piece: what the first pass waits for.
        std::vector<std::vector<std::uint32_t>> gathered = {};
        std::vector<std::uint32_t> reduced = {};  ///< What the optimizer waits for.
    };

    void add_rank(std::uint32_t rank) {
        RankWork work{.program = job_.programs[rank], .rank = rank, .stage = stage_of(rank)};
        for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
            std::vector<std::uint32_t>& pieces = work.gathered.emplace_back();
            for (std::uint32_t i = 0;
                 gathers() && mapping_.overlap_dp && i < pieces_of(work, chunk); ++i) {
                pieces.push_back(exchange(work, Collective::kAllGather, chunk, kGatheredBytes,
                                          pieces.empty() ? kNone : pieces.back()));
            }
        }
        std::vector<std::uint32_t> backward(mapping_.interleave, mapping_.micro_batches());
        for (const PassEvent& event : passes_[work.stage]) {
            const bool adds_up = !event.forward && --backward[event.chunk] == 0 &&
                                 mapping_.zero < 2 && mapping_.replicas() > 1;
            add_pass(work, event, adds_up);
        }
        finish(work);
    }

    bool gathers() const {
        return (mapping_.zero == 1 || mapping_.zero == 2) && mapping_.replicas() > 1;
    }
    /// Layers travel one after the other while others compute; some of them together.
    std::uint32_t pieces_of(const RankWork& work, std::uint32_t chunk) const {
        constexpr std::uint32_t kPiecesMax = 8;
        const std::uint32_t i = chunk * mapping_.pp + work.stage;
        return mapping_.overlap_dp ? std::clamp(first_[i + 1] - first_[i], 1U, kPiecesMax) : 1;
    }

    void add_pass(RankWork& work, const PassEvent& event, bool adds_up) {
        const std::uint32_t virtual_stage = event.chunk * mapping_.pp + event.stage;
        const bool first = virtual_stage == 0;
        const bool last = virtual_stage + 1 == mapping_.virtual_stages();
        std::uint32_t recv = kNone;
        if (mapping_.pp > 1 && !(event.forward ? first : last)) {
            const std::uint32_t from = event.forward ? virtual_stage - 1 : virtual_stage + 1;
            recv = work.program.add(message(Kind::kRecv, work.rank, from, from, event));
        }
        const std::vector<std::uint32_t>& gathered = work.gathered[event.chunk];
        const bool waits = event.forward && event.micro_batch == 0 && !gathered.empty();
        const std::uint32_t pieces = waits || adds_up ? pieces_of(work, event.chunk) : 1;
        const TimePs takes = event.end - event.start - event.waited;
        for (std::uint32_t i = 0; i < pieces; ++i) {
            const std::uint32_t pass =
                work.program.add({.name = event.forward ? forward_ : backward_,
                                  .compute_ps = takes * (i + 1) / pieces - takes * i / pieces});
            for (const std::uint32_t before :
                 {work.last, i == 0 ? recv : kNone, waits ? gathered[i] : kNone}) {
                if (before != kNone) {
                    work.program.depend(pass, before);
                }
            }
            work.last = pass;
            if (adds_up) {
                const Collective what =
                    mapping_.zero == 0 ? Collective::kAllReduce : Collective::kReduceScatter;
                work.reduced.push_back(
                    exchange(work, what, event.chunk, mapping_.grad_bytes, pass));
            }
        }
        if (mapping_.pp > 1 && !(event.forward ? last : first)) {
            const std::uint32_t to = event.forward ? virtual_stage + 1 : virtual_stage - 1;
            const std::uint32_t send =
                work.program.add(message(Kind::kSend, work.rank, to, virtual_stage, event));
            work.program.depend(send, work.last);
            if (!mapping_.overlap_pp) {
                work.last = send;
            }
        }
    }

    /// A message between virtual stages; its tag is that of the one that sends.
    Operation message(Kind kind, std::uint32_t rank, std::uint32_t peer, std::uint32_t sender,
                      const PassEvent& event) const {
        const std::uint32_t place = rank - stage_of(rank) * stage_stride();
        const double tokens =
            static_cast<double>(mapping_.micro_batch) * mapping_.sequence / mapping_.cp;
        const std::uint32_t turn = event.micro_batch * mapping_.virtual_stages() + sender;
        return {.kind = kind,
                .name = event.forward ? forward_ : backward_,
                .peer = place + peer % mapping_.pp * stage_stride(),
                .tag = 2 * turn + (event.forward ? 0U : 1U),
                .bytes = static_cast<std::uint64_t>(tokens * model_.hidden * kActivationBytes /
                                                    mapping_.tp)};
    }

    /// Replicas exchange a piece of what they hold of a chunk: parameters of all first, then
    /// experts'. Returns the last operation.
    std::uint32_t exchange(RankWork& work, Collective what, std::uint32_t chunk, double bytes,
                           std::uint32_t behind) {
        const HeldParameters held =
            held_parameters(model_, mapping_, chunk * mapping_.pp + work.stage);
        bytes /= pieces_of(work, chunk);
        const std::pair<double, std::uint32_t> parts[]{{held.shared, shared_},
                                                       {held.experts, experts_}};
        std::uint32_t last = kNone;
        for (const auto& [parameters, communicator] : parts) {
            if (parameters <= 0) {
                continue;
            }
            const std::uint32_t made =
                work.program.add({.kind = Kind::kCollective,
                                  .collective = what,
                                  .name = what == Collective::kAllGather ? parameters_ : gradients_,
                                  .communicator = communicator,
                                  .bytes = static_cast<std::uint64_t>(parameters * bytes)});
            const std::uint32_t before = last != kNone ? last : behind;
            if (before != kNone) {
                work.program.depend(made, before);
            }
            last = made;
        }
        return last;
    }

    /// The optimizer, and the parameters that nothing hid.
    void finish(RankWork& work) {
        TimePs takes = 0;
        for (const SideEvent& event : step_.side) {
            if (event.stage == work.stage && event.work == SideWork::kOptimizer) {
                takes += event.end - event.start;
            }
        }
        const std::uint32_t update = work.program.add({.name = optimizer_, .compute_ps = takes});
        work.program.depend(update, work.last);
        for (const std::uint32_t each : work.reduced) {
            work.program.depend(update, each);
        }
        for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
            if (gathers() && !mapping_.overlap_dp) {
                exchange(work, Collective::kAllGather, chunk, kGatheredBytes, update);
            }
        }
    }

    const Model& model_;
    const Mapping& mapping_;
    const Step& step_;
    Groups groups_;
    std::vector<std::uint32_t> first_;  ///< Layer of each virtual stage.
    Job job_ = {};
    std::vector<std::vector<PassEvent>> passes_ = {};  ///< By stage.
    std::uint32_t forward_ = job_.add_name("forward");
    std::uint32_t backward_ = job_.add_name("backward");
    std::uint32_t gradients_ = job_.add_name("gradients");
    std::uint32_t parameters_ = job_.add_name("parameters");
    std::uint32_t optimizer_ = job_.add_name("optimizer");
    std::uint32_t shared_ = kNone;
    std::uint32_t experts_ = kNone;
};

}  // namespace

Job job_of_step(const Model& model, const Mapping& mapping, const Step& step) {
    return StepJob(model, mapping, step).run();
}

}  // namespace softib::plan::trace
