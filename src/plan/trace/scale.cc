// SPDX-License-Identifier: BSD-2-Clause
// Merges several jobs into one, and gives a job more ranks.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "plan/trace/expand.h"

namespace softib::plan::trace {

namespace {

/// Returns the peer that is as far away among `ranks` ranks as before among `old`, the shorter way
/// around, so that a ring of all ranks stays one. At half the way around, sends go forwards and
/// receives come from behind.
std::uint32_t moved_peer(const Operation& op, std::uint32_t rank, std::uint32_t old,
                         std::uint32_t ranks) {
    const std::uint32_t ahead = (op.peer + old - rank % old) % old;
    const bool forwards = 2 * ahead < old || (2 * ahead == old && op.kind == Kind::kSend);
    return forwards ? (rank + ahead) % ranks : (rank + ranks - (old - ahead)) % ranks;
}

}  // namespace

Job merge(std::span<const Job> jobs) {
    Job all;
    std::uint32_t total = 0;
    for (const Job& job : jobs) {
        total += job.ranks();
    }
    std::uint32_t first = 0;
    for (const Job& job : jobs) {
        all.name += (all.name.empty() ? "" : "+") + job.name;
        const auto names = static_cast<std::uint32_t>(all.names.size());
        all.names.insert(all.names.end(), job.names.begin(), job.names.end());
        std::ranges::copy_if(job.notes, std::back_inserter(all.notes), [&](const auto& note) {
            return std::ranges::find(all.notes, note) == all.notes.end();
        });
        const auto communicators = static_cast<std::uint32_t>(all.communicators.size());
        for (std::uint32_t rank = 0; rank < job.ranks(); ++rank) {
            Program program = job.program(rank);
            for (Operation& op : program.operations()) {
                op.name = op.name == 0 ? 0 : op.name + names;
                op.communicator += communicators;
                if ((op.kind == Kind::kSend || op.kind == Kind::kRecv) && op.peer != kAnyRank) {
                    op.peer += first;
                }
            }
            all.program_of.push_back(static_cast<std::uint32_t>(all.programs.size()));
            all.programs.push_back(std::move(program));
        }
        for (Communicator comm : job.communicators) {
            for (auto& group : comm.groups) {
                for (std::uint32_t& rank : group) {
                    rank += first;
                }
            }
            comm.group_of.clear();
            all.communicators.push_back(std::move(comm));
        }
        first += job.ranks();
    }
    for (Communicator& comm : all.communicators) {
        comm.group_of.assign(total, kNone);
        for (std::uint32_t g = 0; g < comm.groups.size(); ++g) {
            for (const std::uint32_t rank : comm.groups[g]) {
                comm.group_of[rank] = g;
            }
        }
    }
    return all;
}

std::expected<Job, std::string> scale(const Job& job, std::uint32_t ranks) {
    const std::uint32_t old = job.ranks();
    if (ranks == 0 || ranks % old != 0 || ranks > kRanksMax) {
        return std::unexpected(fmt::format("{} ranks become a multiple of {} up to {}, not {}", old,
                                           old, kRanksMax, ranks));
    }
    Job scaled;
    scaled.name = job.name;
    scaled.names = job.names;
    scaled.notes = job.notes;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        scaled.program_of.push_back(job.program_of[rank % old]);
    }
    scaled.programs = job.programs;
    const bool messages = std::ranges::any_of(job.programs, [](const Program& program) {
        return std::ranges::any_of(program.operations(), [](const Operation& op) {
            return op.kind == Kind::kSend || op.kind == Kind::kRecv;
        });
    });
    if (messages) {
        // Peers are absolute, so each rank has a program of its own.
        scaled.programs.clear();
        for (std::uint32_t rank = 0; rank < ranks; ++rank) {
            Program program = job.program(rank % old);
            for (Operation& op : program.operations()) {
                if ((op.kind == Kind::kSend || op.kind == Kind::kRecv) && op.peer != kAnyRank) {
                    op.peer = moved_peer(op, rank, old, ranks);
                }
            }
            scaled.program_of[rank] = rank;
            scaled.programs.push_back(std::move(program));
        }
    }
    for (const Communicator& comm : job.communicators) {
        std::vector<std::vector<std::uint32_t>> groups;
        const bool world = comm.groups.size() == 1 && comm.groups[0].size() == old;
        for (std::uint32_t first = 0; first < ranks; first += old) {
            for (std::vector<std::uint32_t> group : comm.groups) {
                for (std::uint32_t& rank : group) {
                    rank += first;
                }
                if (world && !groups.empty()) {
                    groups[0].insert(groups[0].end(), group.begin(), group.end());
                } else {
                    groups.push_back(std::move(group));
                }
            }
        }
        scaled.add_communicator(comm.name, std::move(groups));
    }
    return scaled;
}

}  // namespace softib::plan::trace
