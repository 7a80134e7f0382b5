// SPDX-License-Identifier: BSD-2-Clause
#include "plan/trace/job.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>

namespace softib::plan::trace {

const char* to_string(Kind kind) {
    constexpr std::array<const char*, kKinds.size()> kNames{"compute", "send", "recv",
                                                            "collective"};
    return kNames[static_cast<std::size_t>(kind)];
}

const char* to_string(Collective collective) {
    constexpr std::array<const char*, kCollectives.size()> kNames{
        "all-reduce", "reduce",         "all-gather",           "gather", "scatter", "broadcast",
        "all-to-all", "reduce-scatter", "reduce-scatter-block", "barrier"};
    return kNames[static_cast<std::size_t>(collective)];
}

Links::Links(std::uint32_t operations, std::span<const Edge> edges, bool backwards)
    : begin_(operations + 1), all_(edges.size()) {
    const auto key = [backwards](const Edge& edge) {
        return backwards ? edge.dependency.on : edge.operation;
    };
    for (const Edge& edge : edges) {
        ++begin_[key(edge) + 1];
    }
    std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
    std::vector<std::uint32_t> at(begin_.begin(), begin_.end() - 1);
    for (const Edge& edge : edges) {
        all_[at[key(edge)]++] = {backwards ? edge.operation : edge.dependency.on,
                                 edge.dependency.waits};
    }
}

std::expected<std::vector<std::uint32_t>, std::uint32_t> sorted(const Program& program) {
    const std::uint32_t count = program.next();
    const Links behind(count, program.edges(), true);
    std::vector<std::uint32_t> waits(count);
    for (const Edge& edge : program.edges()) {
        ++waits[edge.operation];
    }
    std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> ready;
    for (std::uint32_t i = 0; i < count; ++i) {
        if (waits[i] == 0) {
            ready.push(i);
        }
    }
    std::vector<std::uint32_t> order;
    order.reserve(count);
    while (!ready.empty()) {
        order.push_back(ready.top());
        ready.pop();
        for (const Dependency& next : behind.of(order.back())) {
            if (--waits[next.on] == 0) {
                ready.push(next.on);
            }
        }
    }
    if (order.size() != count) {
        const auto stuck = std::ranges::find_if(waits, [](std::uint32_t n) { return n != 0; });
        return std::unexpected(static_cast<std::uint32_t>(stuck - waits.begin()));
    }
    return order;
}

std::uint32_t Job::add_name(std::string_view text) {
    // Names in traces repeat at short distances, so only the last few are compared.
    constexpr std::size_t kLook = 64;
    const std::size_t first = names.size() > kLook ? names.size() - kLook : 0;
    for (std::size_t i = names.size(); i > first; --i) {
        if (names[i - 1] == text) {
            return static_cast<std::uint32_t>(i - 1);
        }
    }
    names.emplace_back(text);
    return static_cast<std::uint32_t>(names.size() - 1);
}

std::uint32_t Job::add_communicator(std::string title,
                                    std::vector<std::vector<std::uint32_t>> groups) {
    Communicator made{.name = std::move(title), .groups = std::move(groups)};
    made.group_of.assign(ranks(), kNone);
    for (std::uint32_t group = 0; group < made.groups.size(); ++group) {
        for (const std::uint32_t rank : made.groups[group]) {
            if (rank < ranks()) {
                made.group_of[rank] = group;
            }
        }
    }
    communicators.push_back(std::move(made));
    return static_cast<std::uint32_t>(communicators.size() - 1);
}

std::uint32_t Job::add_world() {
    std::vector<std::uint32_t> all(ranks());
    std::iota(all.begin(), all.end(), 0U);
    return add_communicator("world", {std::move(all)});
}

std::string describe(const Job& job, std::uint32_t rank, std::uint32_t operation) {
    const Operation& op = job.program(rank).operations()[operation];
    const std::string name = op.name == 0 ? "" : fmt::format(" ({})", job.names[op.name]);
    const auto rank_text = [](std::uint32_t peer) {
        return peer == kAnyRank ? std::string("any rank") : fmt::format("rank {}", peer);
    };
    switch (op.kind) {
        case Kind::kCompute:
            return fmt::format("compute {}{}", show_time(op.compute_ps), name);
        case Kind::kSend:
            return fmt::format("send {} bytes to {}, tag {}{}", op.bytes, rank_text(op.peer),
                               op.tag, name);
        case Kind::kRecv:
            return fmt::format("recv {} bytes from {}, tag {}{}", op.bytes, rank_text(op.peer),
                               op.tag == kAnyTag ? "any" : std::to_string(op.tag), name);
        case Kind::kCollective:
            break;
    }
    return fmt::format("{} of {} bytes in {}{}", to_string(op.collective), op.bytes,
                       job.communicators[op.communicator].name, name);
}

namespace {

bool has_root(Collective collective) {
    return collective == Collective::kReduce || collective == Collective::kGather ||
           collective == Collective::kScatter || collective == Collective::kBroadcast;
}

std::string operation_fault(const Job& job, std::uint32_t rank, const Operation& op) {
    if (op.kind == Kind::kSend || op.kind == Kind::kRecv) {
        const bool any = op.kind == Kind::kRecv && op.peer == kAnyRank;
        if (!any && op.peer >= job.ranks()) {
            return fmt::format("there is no rank {}: the job has {}", op.peer, job.ranks());
        }
        return "";
    }
    if (op.kind == Kind::kCompute) {
        return "";
    }
    const Communicator& comm = job.communicators[op.communicator];
    if (comm.group_of[rank] == kNone) {
        return fmt::format("rank {} is no member of {}", rank, comm.name);
    }
    const std::size_t members = comm.groups[comm.group_of[rank]].size();
    if (has_root(op.collective) && op.peer >= members) {
        return fmt::format("root {} is no member of {}, which has {}", op.peer, comm.name, members);
    }
    const std::vector<std::uint64_t>& splits = job.program(rank).splits;
    if (op.splits != kNone && (op.splits > splits.size() || splits.size() - op.splits < members)) {
        return fmt::format("{} parts are needed, one for each member of {}", members, comm.name);
    }
    return "";
}

std::optional<std::string> communicator_fault(const Job& job) {
    for (const Communicator& comm : job.communicators) {
        std::vector<bool> seen(job.ranks());
        for (const auto& group : comm.groups) {
            for (const std::uint32_t rank : group) {
                if (rank >= job.ranks()) {
                    return fmt::format("{} names rank {}: the job has {} ranks", comm.name, rank,
                                       job.ranks());
                }
                if (seen[rank]) {
                    return fmt::format("{} names rank {} twice", comm.name, rank);
                }
                seen[rank] = true;
            }
        }
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> find_fault(const Job& job) {
    if (job.ranks() == 0) {
        return "the trace has no ranks";
    }
    if (auto fault = communicator_fault(job)) {
        return fault;
    }
    std::vector<bool> sound(job.programs.size());
    for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
        const Program& program = job.program(rank);
        for (std::uint32_t i = 0; i < program.next(); ++i) {
            const std::string fault = operation_fault(job, rank, program.operations()[i]);
            if (!fault.empty()) {
                return fmt::format("rank {}, operation {}: {}", rank, i, fault);
            }
        }
        if (sound[job.program_of[rank]]) {
            continue;
        }
        sound[job.program_of[rank]] = true;
        if (const auto order = sorted(program); !order) {
            return fmt::format("rank {}: operation {} ({}) depends on itself in a circle", rank,
                               order.error(), describe(job, rank, order.error()));
        }
    }
    return std::nullopt;
}

Summary summarise(const Job& job) {
    Summary all;
    std::vector<std::uint64_t> users(job.programs.size());
    for (const std::uint32_t program : job.program_of) {
        ++users[program];
    }
    for (std::size_t i = 0; i < job.programs.size(); ++i) {
        TimePs compute = 0;
        for (const Operation& op : job.programs[i].operations()) {
            const auto kind = static_cast<std::size_t>(op.kind);
            all.operations += users[i];
            all.count[kind] += users[i];
            all.bytes[kind] += users[i] * op.bytes;
            compute += op.compute_ps;
            if (op.kind == Kind::kCollective) {
                const auto which = static_cast<std::size_t>(op.collective);
                all.collectives[which] += users[i];
                all.collective_bytes[which] += users[i] * op.bytes;
            }
        }
        all.compute_max = std::max(all.compute_max, users[i] == 0 ? 0 : compute);
    }
    return all;
}

}  // namespace softib::plan::trace
