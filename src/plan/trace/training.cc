// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "plan/train/memory.h"
#include "plan/train/passes.h"

namespace softib::plan::trace {

namespace {

constexpr double kActivationBytes = 2;
constexpr double kGatheredBytes = 2;  ///< Bytes of a parameter that is gathered.

/// Returns groups that together have all ranks, each of the same shape as that of rank 0.
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

/// Returns the groups of ranks that divide the experts: `ep` neighbours among the ranks that have
/// the same other parameters.
std::vector<std::vector<std::uint32_t>> sharing_experts(
    const std::vector<std::vector<std::uint32_t>>& replicas, std::uint32_t ep) {
    std::vector<std::vector<std::uint32_t>> groups;
    for (const std::vector<std::uint32_t>& ranks : replicas) {
        for (std::size_t first = 0; first + ep <= ranks.size(); first += ep) {
            const auto from = ranks.begin() + static_cast<std::ptrdiff_t>(first);
            groups.emplace_back(from, from + static_cast<std::ptrdiff_t>(ep));
        }
    }
    return groups;
}

/// Returns the groups of ranks that have the same experts: every ep-th of the ranks that have the
/// same other parameters.
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

TimePs to_ps(double seconds) {
    return static_cast<TimePs>(std::llround(seconds * 1e12));
}

double seconds_of(const std::vector<PassExchange>& exchanges) {
    double sum = 0;
    for (const PassExchange& each : exchanges) {
        sum += each.seconds;
    }
    return sum;
}

/// Returns a pass without exchanges that takes as long.
LayerPass computing_alone(const LayerPass& pass) {
    double compute = 0;
    double all = 0;
    for (const PassBlock& block : pass.blocks) {
        compute += block.compute_s;
        all += std::max(block.compute_s, seconds_of(block.beside));
        for (const PassExchange& each : block.exchanges) {
            all += std::max(0.0, each.seconds - each.hidden_s);
        }
    }
    all += std::max(0.0, seconds_of(pass.beside) - compute);
    return {.blocks = {{.compute_s = all}}};
}

Collective collective_of(Exchange exchange) {
    switch (exchange) {
        case Exchange::kAllReduce:
            return Collective::kAllReduce;
        case Exchange::kReduceScatter:
            return Collective::kReduceScatter;
        case Exchange::kAllGather:
            return Collective::kAllGather;
        case Exchange::kAllToAll:
        case Exchange::kSend:
            break;
    }
    return Collective::kAllToAll;
}

class StepJob {
  public:
    StepJob(const Model& model, const Mapping& mapping, const Step& step,
            std::vector<StagePasses> stages, const StepJobOptions& options)
        : model_(model),
          mapping_(mapping),
          step_(step),
          groups_(groups_of(mapping)),
          first_(first_layers(model, mapping)),
          stages_(std::move(stages)) {
        const auto simplify = [&options](std::vector<LayerPass>& passes) {
            if (options.layers_together == 0) {
                std::ranges::transform(passes, passes.begin(), computing_alone);
            } else {
                passes = put_together(std::move(passes), options.layers_together);
            }
        };
        for (StagePasses& stage : stages_) {
            simplify(stage.forward);
            simplify(stage.backward);
        }
    }

    /// Returns the number of messages that the exchanges within passes of all ranks become.
    double messages() const {
        double sum = 0;
        for (const StagePasses& stage : stages_) {
            for (const std::vector<LayerPass>* passes : {&stage.forward, &stage.backward}) {
                for (const LayerPass& pass : *passes) {
                    sum += messages_of(pass.beside);
                    for (const PassBlock& block : pass.blocks) {
                        sum += messages_of(block.exchanges) + messages_of(block.beside);
                    }
                }
            }
        }
        return sum * mapping_.micro_batches() * mapping_.gpus / mapping_.pp;
    }

    Job run() {
        job_.name = model_.name;
        job_.programs.resize(mapping_.gpus);
        for (std::uint32_t rank = 0; rank < mapping_.gpus; ++rank) {
            job_.program_of.push_back(rank);
        }
        add_communicators();
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
    using Operations = std::vector<std::uint32_t>;

    std::uint32_t stage_stride() const {
        return groups_.pipeline.size() > 1 ? groups_.pipeline[1] : 1;
    }
    std::uint32_t stage_of(std::uint32_t rank) const { return rank / stage_stride() % mapping_.pp; }

    double messages_of(const std::vector<PassExchange>& exchanges) const {
        double sum = 0;
        for (const PassExchange& each : exchanges) {
            const std::array sizes{mapping_.tp, mapping_.cp, mapping_.ep, mapping_.replicas(),
                                   mapping_.expert_replicas()};
            const double others = sizes[static_cast<std::size_t>(each.peers)] - 1;
            sum += (each.exchange == Exchange::kAllReduce ? 2 : 1) * others;
        }
        return sum;
    }

    void add_communicators() {
        const auto set = [this](Peers peers, std::vector<std::vector<std::uint32_t>> groups) {
            const std::uint32_t number = job_.add_communicator(to_string(peers), std::move(groups));
            communicators_[static_cast<std::size_t>(peers)] = number;
        };
        const auto replicas = groups_like(groups_.data, mapping_.gpus);
        if (mapping_.replicas() > 1) {
            set(Peers::kData, replicas);
            set(Peers::kExpertData, expert_groups(replicas, mapping_.ep));
        }
        if (mapping_.tp > 1) {
            set(Peers::kTensor, groups_like(groups_.tensor, mapping_.gpus));
        }
        if (mapping_.ep > 1) {
            set(Peers::kExpert, sharing_experts(replicas, mapping_.ep));
        }
        if (shares_embedding()) {
            std::vector<std::vector<std::uint32_t>> pairs;
            for (std::uint32_t rank = 0; rank < mapping_.gpus; ++rank) {
                if (stage_of(rank) == 0) {
                    pairs.push_back({rank, rank + groups_.pipeline.back()});
                }
            }
            embedding_ = job_.add_communicator("embedding", std::move(pairs));
        }
    }
    bool shares_embedding() const { return model_.tied_embeddings && mapping_.pp > 1; }

    struct RankWork {
        Program& program;
        std::uint32_t rank = 0;
        std::uint32_t stage = 0;
        Operations last = {};  ///< Operations that the next one waits for.
        double computing = 0;  ///< Seconds of computing that are not in an operation yet.
        std::uint32_t name = 0;
        std::uint32_t passed_on = 0;  ///< Number of messages of context parallelism so far.
        /// Gathers of parameters that the first pass waits for, by chunk and piece.
        std::vector<Operations> gathered = {};
        Operations reduced = {};  ///< Exchanges of gradients that the optimizer waits for.
    };

    static std::uint32_t add(RankWork& work, const Operation& operation, const Operations& behind) {
        const std::uint32_t made = work.program.add(operation);
        for (const std::uint32_t before : behind) {
            work.program.depend(made, before);
        }
        return made;
    }

    /// Adds an operation for the computing so far.
    static void compute(RankWork& work) {
        const TimePs takes = to_ps(work.computing);
        work.computing = 0;
        if (takes != 0) {
            work.last = {add(work, {.name = work.name, .compute_ps = takes}, work.last)};
        }
    }

    void add_rank(std::uint32_t rank) {
        RankWork work{.program = job_.programs[rank], .rank = rank, .stage = stage_of(rank)};
        for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
            Operations& pieces = work.gathered.emplace_back();
            for (std::uint32_t i = 0;
                 gathers() && mapping_.overlap_dp && i < pieces_of(work, chunk); ++i) {
                const Operations behind = pieces.empty() ? Operations{} : Operations{pieces.back()};
                pieces.push_back(
                    exchange(work, Collective::kAllGather, chunk, kGatheredBytes, behind));
            }
        }
        std::vector<std::uint32_t> backward(mapping_.interleave, mapping_.micro_batches());
        for (const PassEvent& event : passes_[work.stage]) {
            const bool adds_up = !event.forward && --backward[event.chunk] == 0 &&
                                 mapping_.zero < 2 && mapping_.replicas() > 1;
            work.name = event.forward ? forward_ : backward_;
            add_pass(work, event, adds_up);
        }
        finish(work);
    }

    bool gathers() const {
        return (mapping_.zero == 1 || mapping_.zero == 2) && mapping_.replicas() > 1;
    }
    /// Returns the number of pieces in which the parameters or gradients of a chunk are exchanged:
    /// one for each layer, as far as they are at most eight.
    std::uint32_t pieces_of(const RankWork& work, std::uint32_t chunk) const {
        constexpr std::uint32_t kPiecesMax = 8;
        const std::uint32_t i = chunk * mapping_.pp + work.stage;
        const auto passes = static_cast<std::uint32_t>(stages_[i].forward.size());
        const std::uint32_t pieces = std::min({first_[i + 1] - first_[i], passes, kPiecesMax});
        return mapping_.overlap_dp ? std::max(pieces, 1U) : 1;
    }

    void add_pass(RankWork& work, const PassEvent& event, bool adds_up) {
        const std::uint32_t virtual_stage = event.chunk * mapping_.pp + event.stage;
        const bool first = virtual_stage == 0;
        const bool last = virtual_stage + 1 == mapping_.virtual_stages();
        if (mapping_.pp > 1 && !(event.forward ? first : last)) {
            receive(work, event, event.forward ? virtual_stage - 1 : virtual_stage + 1);
        }
        const Operations& gathered = work.gathered[event.chunk];
        const bool waits = event.forward && event.micro_batch == 0 && !gathered.empty();
        const std::uint32_t pieces = waits || adds_up ? pieces_of(work, event.chunk) : 1;
        const StagePasses& stage = stages_[virtual_stage];
        const std::vector<LayerPass>& layers = event.forward ? stage.forward : stage.backward;
        for (std::uint32_t i = 0; i < pieces; ++i) {
            if (waits) {
                compute(work);
                work.last.push_back(gathered[i]);
            }
            for (std::size_t layer = layers.size() * i / pieces;
                 layer < layers.size() * (i + 1) / pieces; ++layer) {
                add_layer(work, layers[layer]);
            }
            if (adds_up) {
                compute(work);
                const Collective what =
                    mapping_.zero == 0 ? Collective::kAllReduce : Collective::kReduceScatter;
                work.reduced.push_back(
                    exchange(work, what, event.chunk, mapping_.grad_bytes, work.last));
            }
        }
        compute(work);
        if (mapping_.pp > 1 && !(event.forward ? last : first)) {
            const std::uint32_t to = event.forward ? virtual_stage + 1 : virtual_stage - 1;
            const std::uint32_t send =
                add(work, message(Kind::kSend, work.rank, to, virtual_stage, event), work.last);
            if (!mapping_.overlap_pp) {
                work.last = {send};
            }
        }
    }

    /// Makes the next pass wait for the output of another stage. Without sequence parallelism, each
    /// rank of tensor parallelism receives a part of it, and all gather the whole.
    void receive(RankWork& work, const PassEvent& event, std::uint32_t from) {
        std::uint32_t came =
            add(work, message(Kind::kRecv, work.rank, from, from, event), Operations{});
        if (!mapping_.sequence_parallel && mapping_.tp > 1) {
            const PassExchange whole{.peers = Peers::kTensor,
                                     .exchange = Exchange::kAllGather,
                                     .bytes = message_bytes() * mapping_.tp};
            came = begin(work, whole, {came});
        }
        work.last.push_back(came);
    }

    void add_layer(RankWork& work, const LayerPass& pass) {
        if (!pass.beside.empty()) {
            compute(work);
        }
        const Operations start = work.last;
        for (const PassBlock& block : pass.blocks) {
            add_block(work, block);
        }
        add_beside(work, pass.beside, start);
    }

    void add_block(RankWork& work, const PassBlock& block) {
        if (!block.beside.empty()) {
            compute(work);
        }
        const Operations start = work.last;
        double hidden = 0;
        for (const PassExchange& each : block.exchanges) {
            hidden += each.hidden_s;
        }
        const double scale = hidden > block.compute_s ? block.compute_s / hidden : 1;
        const double between =
            (block.compute_s - hidden * scale) / static_cast<double>(block.exchanges.size() + 1);
        for (const PassExchange& each : block.exchanges) {
            work.computing += between;
            compute(work);
            const Operations before = work.last;
            const std::uint32_t end = begin(work, each, before);
            work.computing = each.hidden_s * scale;
            if (to_ps(work.computing) == 0) {
                work.last = {end};
                continue;
            }
            compute(work);
            work.last.push_back(end);
        }
        work.computing += between;
        add_beside(work, block.beside, start);
    }

    /// Adds exchanges one after the other, the first behind `start`. What comes next waits for the
    /// last one too.
    void add_beside(RankWork& work, const std::vector<PassExchange>& exchanges, Operations start) {
        for (const PassExchange& each : exchanges) {
            start = {begin(work, each, start)};
        }
        if (!exchanges.empty()) {
            compute(work);
            work.last.insert(work.last.end(), start.begin(), start.end());
        }
    }

    /// Adds an exchange. Returns the operation with which it ends.
    std::uint32_t begin(RankWork& work, const PassExchange& what, const Operations& behind) {
        const auto peers = static_cast<std::size_t>(what.peers);
        if (what.exchange == Exchange::kSend) {
            return pass_around(work, what.bytes, behind);
        }
        return add(work,
                   {.kind = Kind::kCollective,
                    .collective = collective_of(what.exchange),
                    .rings = what.exchange != Exchange::kAllToAll,
                    .name = names_[peers],
                    .communicator = communicators_[peers],
                    .bytes = static_cast<std::uint64_t>(std::llround(what.bytes))},
                   behind);
    }

    /// Adds messages by which the keys and values of every rank of a context visit all others: each
    /// rank sends on what it has received last. Returns a computation of no time that waits for all
    /// of them.
    std::uint32_t pass_around(RankWork& work, double bytes, const Operations& behind) {
        const std::uint32_t count = mapping_.cp;
        const std::uint32_t place = work.rank / mapping_.tp % count;
        const std::uint32_t first = work.rank - place * mapping_.tp;
        const std::uint32_t next = first + (place + 1) % count * mapping_.tp;
        const std::uint32_t before = first + (place + count - 1) % count * mapping_.tp;
        const auto each = static_cast<std::uint64_t>(std::llround(bytes / (count - 1)));
        Operations came = behind;
        Operations open;
        for (std::uint32_t i = 1; i < count; ++i) {
            const Operation send{.kind = Kind::kSend,
                                 .name = names_[static_cast<std::size_t>(Peers::kContext)],
                                 .peer = next,
                                 .tag = work.passed_on,
                                 .bytes = each};
            Operation recv = send;
            recv.kind = Kind::kRecv;
            recv.peer = before;
            open.push_back(add(work, send, came));
            came = {add(work, recv, behind)};
            ++work.passed_on;
        }
        open.insert(open.end(), came.begin(), came.end());
        return add(work, {.lane = 1, .name = work.name}, open);
    }

    double message_bytes() const {
        const double tokens =
            static_cast<double>(mapping_.micro_batch) * mapping_.sequence / mapping_.cp;
        return tokens * model_.hidden * kActivationBytes / mapping_.tp;
    }

    /// Returns a message between virtual stages, with a tag by micro-batch, direction and sender.
    Operation message(Kind kind, std::uint32_t rank, std::uint32_t peer, std::uint32_t sender,
                      const PassEvent& event) const {
        const std::uint32_t place = rank - stage_of(rank) * stage_stride();
        const std::uint32_t turn = event.micro_batch * mapping_.virtual_stages() + sender;
        return {.kind = kind,
                .name = event.forward ? forward_ : backward_,
                .peer = place + peer % mapping_.pp * stage_stride(),
                .tag = 2 * turn + (event.forward ? 0U : 1U),
                .bytes = static_cast<std::uint64_t>(message_bytes())};
    }

    /// Adds the exchange of a piece of a chunk between replicas: first shared parameters, then
    /// those of experts. Returns the last operation.
    std::uint32_t exchange(RankWork& work, Collective what, std::uint32_t chunk, double bytes,
                           const Operations& behind) {
        const HeldParameters held =
            held_parameters(model_, mapping_, first_, chunk * mapping_.pp + work.stage);
        bytes /= pieces_of(work, chunk);
        const std::pair<double, Peers> parts[]{
            {held.trained_shared(mapping_), Peers::kData},
            {held.trained_experts(mapping_), Peers::kExpertData}};
        std::uint32_t last = kNone;
        for (const auto& [parameters, peers] : parts) {
            if (parameters <= 0) {
                continue;
            }
            last = add(work,
                       {.kind = Kind::kCollective,
                        .collective = what,
                        .name = what == Collective::kAllGather ? parameters_ : gradients_,
                        .communicator = communicators_[static_cast<std::size_t>(peers)],
                        .bytes = static_cast<std::uint64_t>(parameters * bytes)},
                       last != kNone ? Operations{last} : behind);
        }
        return last;
    }

    /// Adds what follows the passes: gradients of the shared embedding, the optimizer, and
    /// parameters that nothing hides.
    void finish(RankWork& work) {
        TimePs takes = 0;
        for (const SideEvent& event : step_.side) {
            if (event.stage == work.stage &&
                (event.work == SideWork::kOptimizer || event.work == SideWork::kHost)) {
                takes += event.end - event.start;
            }
        }
        Operations behind = work.last;
        behind.insert(behind.end(), work.reduced.begin(), work.reduced.end());
        if (shares_embedding() && (work.stage == 0 || work.stage + 1 == mapping_.pp)) {
            const double bytes = static_cast<double>(model_.vocabulary) * model_.hidden /
                                 mapping_.tp * mapping_.grad_bytes;
            behind = {add(work,
                          {.kind = Kind::kCollective,
                           .collective = Collective::kAllReduce,
                           .rings = true,
                           .name = gradients_,
                           .communicator = embedding_,
                           .bytes = static_cast<std::uint64_t>(bytes)},
                          behind)};
        }
        const std::uint32_t update = add(work, {.name = optimizer_, .compute_ps = takes}, behind);
        for (std::uint32_t chunk = 0; chunk < mapping_.interleave; ++chunk) {
            if (gathers() && !mapping_.overlap_dp) {
                exchange(work, Collective::kAllGather, chunk, kGatheredBytes, {update});
            }
        }
    }

    std::array<std::uint32_t, 5> peer_names() {
        return {job_.add_name(to_string(Peers::kTensor)), job_.add_name(to_string(Peers::kContext)),
                job_.add_name(to_string(Peers::kExpert)), job_.add_name(to_string(Peers::kData)),
                job_.add_name(to_string(Peers::kExpertData))};
    }

    const Model& model_;
    const Mapping& mapping_;
    const Step& step_;
    Groups groups_;
    std::vector<std::uint32_t> first_;  ///< First layer of each virtual stage.
    std::vector<StagePasses> stages_;   ///< Passes of each virtual stage.
    Job job_ = {};
    std::vector<std::vector<PassEvent>> passes_ = {};  ///< Passes of each stage in order.
    std::uint32_t forward_ = job_.add_name("forward");
    std::uint32_t backward_ = job_.add_name("backward");
    std::uint32_t gradients_ = job_.add_name("gradients");
    std::uint32_t parameters_ = job_.add_name("parameters");
    std::uint32_t optimizer_ = job_.add_name("optimizer");
    std::array<std::uint32_t, 5> names_ = peer_names();  ///< Names of exchanges, by Peers.
    std::array<std::uint32_t, 5> communicators_ = {kNone, kNone, kNone, kNone, kNone};
    std::uint32_t embedding_ = kNone;
};

}  // namespace

std::expected<Job, std::string> job_of_step(const Model& model, const Cluster& cluster,
                                            const Mapping& mapping, const Step& step,
                                            const Communication& communication,
                                            const StepJobOptions& options) {
    StepJob made(model, mapping, step, passes_of(model, cluster, mapping, communication), options);
    if (const double messages = made.messages(); messages > kStepMessagesMax) {
        constexpr double kMillion = 1e6;
        return std::unexpected(
            fmt::format("exchanges within the passes of this step are {:.0f} million messages, and "
                        "an export has {:.0f} million at most",
                        messages / kMillion, kStepMessagesMax / kMillion));
    }
    return made.run();
}

}  // namespace softib::plan::trace
