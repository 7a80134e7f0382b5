// SPDX-License-Identifier: BSD-2-Clause
// `softib plan collective --export`: writes the messages of one operation, as a job of ranks.
#include "app/cli/plan/collective_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "app/fabric/term.h"
#include "plan/collective/algorithms.h"
#include "plan/trace/job.h"

namespace softib::app {

namespace {

using plan::Op;
using plan::trace::Collective;
using plan::trace::Job;

constexpr std::array kCollectiveOf{std::pair{Op::kAllReduce, Collective::kAllReduce},
                                   std::pair{Op::kAllGather, Collective::kAllGather},
                                   std::pair{Op::kReduceScatter, Collective::kReduceScatter},
                                   std::pair{Op::kBroadcast, Collective::kBroadcast},
                                   std::pair{Op::kAllToAll, Collective::kAllToAll}};

/// Returns a job in which all ranks do one operation.
Job job_of_operation(Op op, std::uint32_t ranks, std::uint64_t bytes) {
    Job job{.name = to_string(op)};
    job.programs.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        job.program_of.push_back(rank);
    }
    if (op == Op::kSendRecv) {
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            const std::uint32_t to = (rank + 1) % ranks;
            job.programs[rank].add({.kind = plan::trace::Kind::kSend, .peer = to, .bytes = bytes});
            job.programs[to].add({.kind = plan::trace::Kind::kRecv, .peer = rank, .bytes = bytes});
        }
        return job;
    }
    const std::uint32_t world = job.add_world();
    const auto* const name =
        std::ranges::find(kCollectiveOf, op, &std::pair<Op, Collective>::first);
    for (plan::trace::Program& program : job.programs) {
        program.add({.kind = plan::trace::Kind::kCollective,
                     .collective = name->second,
                     .communicator = world,
                     .bytes = bytes});
    }
    return job;
}

/// Returns the GPUs of the model's ranks, NVLink domain by domain, in the model's order.
std::vector<std::uint32_t> gpus_of(const plan::CollectiveModel& model) {
    std::vector<std::uint32_t> gpus;
    const plan::Layout& layout = model.layout();
    for (std::uint32_t p = 0; p < layout.domains(); ++p) {
        const std::uint32_t domain = layout.end(p, 0) / layout.nics_per_domain();
        for (std::uint32_t gpu = 0; gpu < layout.gpus_per_domain(); ++gpu) {
            gpus.push_back(domain * layout.gpus_per_domain() + gpu);
        }
    }
    return gpus;
}

}  // namespace

std::optional<std::string> why_no_export(const answer::CollectiveQuestion& options) {
    if (options.stack != "nccl" || options.rails_crossed || options.channels != 0 ||
        !options.protocol.empty()) {
        return "--export has NCCL's own choice of channels, rails and protocol: leave out --stack, "
               "--rails-crossed, --channels and --protocol";
    }
    return std::nullopt;
}

int export_operation(std::span<const trace::Export> exports, const plan::CollectiveModel& model,
                     Op op, plan::Algorithm algorithm, std::uint64_t bytes) {
    if (plan::row_of(algorithm).between == nullptr && model.layout().domains() > 1) {
        return fail(
            fmt::format("--export {}: switches compute it, and ranks send each other nothing: "
                        "export --algorithms ring, for example",
                        to_string(algorithm)));
    }
    return trace::export_job(exports, model.cluster(), job_of_operation(op, model.ranks(), bytes),
                             gpus_of(model), algorithm);
}

}  // namespace softib::app
