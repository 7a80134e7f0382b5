// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A routed fabric whose switches aggregate, for tests of the manager.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "core/routing/engine.h"
#include "core/routing/test_graphs.h"
#include "core/sharp/aggregation_tables.h"
#include "core/sharp/manager/manager.h"
#include "core/sharp/tree_walk.h"
#include "core/topo/spec.h"

namespace softib::sharp {

/// The fabric with a manager.
class Subnet {
  public:
    explicit Subnet(const topo::Spec& spec, const wire::SharpAnInfo& info = default_an_info())
        : fabric_(routing::make_fabric(spec)) {
        route();
        for (const routing::Target& target : manager_graph_.targets()) {
            if (target.is_switch()) {
                tables_.emplace(target.lid, AggregationTables(info, 64));
            } else {
                hosts_.push_back(target.lid);
            }
        }
        std::ranges::sort(hosts_);
    }

    /// Reads the fabric as it is now.
    void route() {
        manager_graph_ = routing::graph_from(fabric_);
        const auto routed = routing::route_with_updn(manager_graph_, {});
        ASSERT_TRUE(routed) << routed.error().message;
        manager.set_routes(manager_graph_, routed->lfts);
    }

    /// Moves MADs until the manager has none to send for some time. A silent switch answers
    /// nothing.
    void pump(std::uint64_t now = 0) {
        constexpr std::uint64_t kSomeTimeNs = 1'000'000;
        for (int rounds = 0; rounds < 100000; ++rounds) {
            if (const auto packet = manager.poll_transmit(now)) {
                ++mads;
                const auto at = tables_.find(packet->dlid);
                if (at == tables_.end() || packet->dlid == silent) {
                    continue;
                }
                mad::Packet answer = *packet;
                answer.mad = *at->second.answer(packet->mad);
                if (loses != 0 && ++answers % loses == 0) {
                    continue;
                }
                manager.handle(answer);
                continue;
            }
            if (manager.next_timeout_ns() > now + kSomeTimeNs) {
                return;
            }
            now = manager.next_timeout_ns();
            manager.handle_timeout(now);
        }
        FAIL() << "the manager does not come to rest";
    }

    JobId make_job(const std::vector<Lid>& members, JobQuota quota = {}, bool streams = true) {
        const auto job = manager.create_job({.key = 9,
                                             .size = static_cast<std::uint32_t>(members.size()),
                                             .quota = quota,
                                             .streams = streams});
        EXPECT_TRUE(job);
        for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
            EXPECT_EQ(manager.join(*job, rank, members[rank], Qpn{0x800000 + rank}), Error::kNone);
        }
        EXPECT_EQ(manager.start(*job), Error::kNone);
        pump();
        return *job;
    }
    GroupId make_group(JobId job, const std::vector<std::uint32_t>& members) {
        const auto group = manager.create_group(job, static_cast<std::uint32_t>(members.size()));
        EXPECT_TRUE(group);
        for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
            EXPECT_EQ(manager.join_group(job, *group, rank, members[rank]), Error::kNone);
        }
        EXPECT_EQ(manager.start_group(job, *group), Error::kNone);
        pump();
        return *group;
    }
    std::expected<WalkedTree, std::string> walk(JobId id, GroupId group) {
        const JobState& job = *manager.job(id);
        MemberEnds ends;
        const auto& members = job.groups.at(group).members;
        for (std::uint32_t rank = 0; rank < members.size(); ++rank) {
            ends[{job.members[members[rank]].lid, job.members[members[rank]].qpn}] = rank;
        }
        return walk_group(
            [&](Lid lid) {
                const auto found = tables_.find(lid);
                return found == tables_.end() ? nullptr : &found->second;
            },
            job.plan.nodes[0].lid, group, ends);
    }
    /// Returns whether no switch has queue pairs, trees or groups.
    bool is_clean() const {
        return std::ranges::all_of(tables_, [](const auto& entry) {
            return entry.second.qp_count() == 0 && entry.second.trees().empty() &&
                   entry.second.groups().empty();
        });
    }
    std::map<Lid, AggregationTables>& tables() { return tables_; }
    const std::vector<Lid>& hosts() const { return hosts_; }
    topo::Fabric& fabric() { return fabric_; }

    Manager manager{ManagerConfig{.answer_timeout_ns = 1000}};
    Lid silent{0};
    int mads = 0;
    int loses = 0;  ///< One answer in this many is lost; 0 if none is.
    int answers = 0;

  private:
    topo::Fabric fabric_;
    routing::Graph manager_graph_;
    std::map<Lid, AggregationTables> tables_;
    std::vector<Lid> hosts_;
};

}  // namespace softib::sharp
