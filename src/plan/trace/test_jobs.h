// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Jobs and clusters for tests.

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

#include "plan/cluster/presets.h"
#include "plan/collective/cluster_network.h"
#include "plan/trace/player.h"

namespace softib::plan::trace {

inline Cluster hgx(std::uint32_t nodes) {
    return with_nodes(*find_preset("hgx-h200"), nodes);
}

inline Job empty_job(std::uint32_t ranks) {
    Job job;
    job.name = "job";
    job.programs.resize(ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
        job.program_of.push_back(rank);
    }
    return job;
}

inline Operation compute(TimePs time) {
    return {.kind = Kind::kCompute, .compute_ps = time};
}
inline Operation send(std::uint32_t to, std::uint64_t bytes, std::uint32_t tag = 0) {
    return {.kind = Kind::kSend, .peer = to, .tag = tag, .bytes = bytes};
}
inline Operation recv(std::uint32_t from, std::uint64_t bytes, std::uint32_t tag = 0) {
    return {.kind = Kind::kRecv, .peer = from, .tag = tag, .bytes = bytes};
}
inline Operation collective(Collective what, std::uint64_t bytes, std::uint32_t communicator = 0) {
    return {.kind = Kind::kCollective,
            .collective = what,
            .communicator = communicator,
            .bytes = bytes};
}

/// Returns a job in which all ranks do one operation, the same.
inline Job one_collective(std::uint32_t ranks, const Operation& operation) {
    Job job = empty_job(ranks);
    job.add_world();
    for (Program& program : job.programs) {
        program.add(operation);
    }
    return job;
}

/// A player of jobs, with its network.
struct Playing {
    std::unique_ptr<net::Model> network = {};
    std::unique_ptr<Player> player = {};

    std::expected<void, std::string> run() const {
        while (!player->run_some(1U << 20)) {
        }
        return player->outcome();
    }
    TimePs makespan() const {
        TimePs last = 0;
        for (std::uint32_t j = 0; j < player->jobs().size(); ++j) {
            for (std::uint32_t r = 0; r < player->jobs()[j].job.ranks(); ++r) {
                last = std::max(last, player->times(j, r).ended_at);
            }
        }
        return last;
    }
};

inline Playing play(const Cluster& cluster, std::vector<Job> jobs, PlayOptions options = {},
                    net::ModelKind kind = net::ModelKind::kFlow, const Placement& placement = {}) {
    Playing playing;
    playing.network = *make_network(cluster, kind, {});
    std::vector<bool> taken;
    std::vector<PlacedJob> placed;
    for (Job& job : jobs) {
        EXPECT_EQ(find_fault(job), std::nullopt);
        auto gpus = *place(cluster, job.ranks(), placement, taken);
        placed.push_back({std::move(job), std::move(gpus)});
    }
    playing.player =
        std::make_unique<Player>(cluster, *playing.network, std::move(placed), options);
    return playing;
}

}  // namespace softib::plan::trace
