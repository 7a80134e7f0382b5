// SPDX-License-Identifier: BSD-2-Clause
#include "net/sharp/sharp_simulation.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "core/link/credits.h"
#include "core/link/rate.h"
#include "core/mad/packet.h"
#include "core/sharp/manager/manager.h"
#include "core/sharp/reduce.h"
#include "net/plant/latency.h"
#include "net/sharp/sharp_hosts.h"

namespace softib::net {

namespace {

using sharp::Error;

constexpr std::uint32_t kMemberQpn = 0x800000;
/// Time of 64 bytes from a switch to its node. It is next to nothing, so that all ports of the
/// switch reach the node at their own speed.
constexpr std::uint32_t kNodeBlockPs = 1;
/// Each member has a vector of its own if all of them together have at most this many bytes; else
/// they share one.
constexpr std::uint64_t kOwnVectorsMax = 256U << 20;

std::string refused(const char* what, Error error) {
    return std::string("no ") + what + ": error " + std::to_string(static_cast<int>(error));
}

class SharpRun {
  public:
    SharpRun(Routed routed, const PlantConfig& config, const SharpTask& task)
        : task_(task),
          graph_(routed.graph),
          lfts_(routed.tables.lfts),
          fabric_(std::move(routed), config, 0, task.node_ps),
          manager_(manager_config()) {
        fabric_.ends().join(fabric_.engine());
        members_ = task.members == 0 ? fabric_.host_count() : task.members;
    }

    std::expected<SharpOutcome, std::string> run() {
        if (members_ > fabric_.host_count()) {
            return std::unexpected("the fabric has " + std::to_string(fabric_.host_count()) +
                                   " hosts, not " + std::to_string(members_));
        }
        add_nodes();
        manager_.set_routes(graph_, lfts_);
        if (auto made = make_job(); !made) {
            return std::unexpected(made.error());
        }
        if (auto added = add_members(); !added) {
            return std::unexpected(added.error());
        }
        begin();
        fabric_.net().run();
        if (fabric_.ends().failed() || fabric_.ends().done() != members_) {
            return std::unexpected("the operation has not ended at all members");
        }
        return outcome();
    }

  private:
    static sharp::ManagerConfig manager_config() {
        sharp::ManagerConfig config;
        config.members_max = UINT16_MAX;
        config.given.groups = 1;
        return config;
    }

    void add_nodes() {
        const topo::Fabric& topology = fabric_.topology();
        for (std::uint32_t node = 0; node < topology.nodes.size(); ++node) {
            if (topology.nodes[node].kind != topo::NodeKind::kSwitch) {
                continue;
            }
            const std::uint32_t port = fabric_.engine().plant().port_of(node, 0);
            const auto ports = static_cast<std::uint8_t>(topology.nodes[node].ports.size() - 1);
            auto& tables = tables_[fabric_.lids()[node]];
            tables = std::make_unique<sharp::AggregationTables>(sharp::default_an_info(), ports);
            hca::Port at;
            at.lid = fabric_.lids()[node];
            fabric_.ends().add_node(port, *tables, at);
            fabric_.engine().ports().set_speed(port, kNodeBlockPs);
        }
    }

    /// Moves MADs between the manager and the nodes, until the manager has none to send.
    void talk() {
        while (auto packet = manager_.poll_transmit(0)) {
            const auto found = tables_.find(packet->dlid);
            if (found == tables_.end()) {
                continue;
            }
            if (const auto answer = found->second->answer(packet->mad)) {
                packet->mad = *answer;
                manager_.handle(*packet);
            }
        }
    }

    std::expected<void, std::string> make_job() {
        const auto job = manager_.create_job({.size = members_});
        if (!job) {
            return std::unexpected(refused("job", job.error()));
        }
        job_ = *job;
        for (std::uint32_t rank = 0; rank < members_; ++rank) {
            manager_.join(job_, rank, fabric_.lid(rank), Qpn{kMemberQpn});
        }
        manager_.start(job_);
        talk();
        if (manager_.job(job_)->phase != sharp::JobState::kActive) {
            return std::unexpected("no tree: " + manager_.job(job_)->reason);
        }
        const auto group = manager_.create_group(job_, members_);
        if (!group) {
            return std::unexpected(refused("group", group.error()));
        }
        group_ = *group;
        for (std::uint32_t rank = 0; rank < members_; ++rank) {
            manager_.join_group(job_, group_, rank, rank);
        }
        manager_.start_group(job_, group_);
        talk();
        if (streams()) {
            manager_.lock_group(job_, group_);
            talk();
        }
        const sharp::GroupState& state = manager_.job(job_)->groups.at(group_);
        if (state.phase != sharp::GroupState::kActive ||
            (streams() && state.lock != sharp::GroupState::kLocked)) {
            return std::unexpected(refused("group", state.error));
        }
        return {};
    }

    /// Connects the members: a member's queue pair is the other end of the one that its leaf switch
    /// has for it.
    std::expected<void, std::string> add_members() {
        const sharp::JobState& job = *manager_.job(job_);
        std::map<Lid, std::pair<Lid, wire::SharpQpcConfig>> ends;
        for (const auto& [lid, tables] : tables_) {
            for (const auto& [qpn, context] : tables->qps()) {
                if (context.rqpn == Qpn{kMemberQpn}) {
                    ends[context.rlid] = {lid, context};
                }
            }
        }
        sharp::FragmentRule rule;
        rule.datagram_bytes = job.request.quota.payload_bytes;
        rule.datagrams = std::max(job.request.quota.osts / job.request.quota.groups, 1U);
        for (std::uint32_t rank = 0; rank < members_; ++rank) {
            const auto found = ends.find(fabric_.lid(rank));
            if (found == ends.end()) {
                return std::unexpected("member " + std::to_string(rank) + " has no queue pair");
            }
            SharpHosts::MemberInit init;
            init.at.lid = fabric_.lid(rank);
            init.context = found->second.second;
            std::swap(init.context.qpn, init.context.rqpn);
            std::swap(init.context.rq_psn, init.context.sq_psn);
            init.context.rlid = found->second.first;
            init.tree = job.tree_id;
            init.group = group_;
            init.rule = rule;
            if (!fabric_.ends().add_member(fabric_.port(rank), init)) {
                return std::unexpected("member " + std::to_string(rank) + " has no connection");
            }
        }
        fabric_.ends().follow_tables();
        return {};
    }

    bool streams() const { return task_.bytes >= task_.stream_from; }

    /// Returns what a member contributes as an element: 0 or 1, so that few sums overflow.
    std::uint8_t value(std::uint32_t rank, std::uint64_t element) const {
        return static_cast<std::uint8_t>(own_vectors() ? (rank + element) % 2 : element % 2);
    }
    bool own_vectors() const { return task_.bytes * members_ <= kOwnVectorsMax; }

    /// Begins the all-reduce at all members. They may share one vector, because a part of the
    /// result is written only after all members have sent that part.
    void begin() {
        const std::size_t element = task_.reduction.element_bytes();
        vectors_.resize(own_vectors() ? members_ : 1);
        for (std::uint32_t i = 0; i < vectors_.size(); ++i) {
            vectors_[i].resize(task_.bytes);
            for (std::uint64_t at = 0; at < task_.bytes; at += element) {
                vectors_[i][at] = std::byte{value(i, at / element)};
            }
        }
        const TimePs start = fabric_.engine().now() + fabric_.engine().plant().config().hca_ps;
        for (std::uint32_t rank = 0; rank < members_; ++rank) {
            const auto bytes = static_cast<std::uint32_t>(task_.bytes);
            fabric_.ends().begin(fabric_.port(rank), start,
                                 {.sequence = 1,
                                  .bytes = bytes,
                                  .streaming = streams(),
                                  .reduction = task_.reduction,
                                  .give = {0, bytes},
                                  .take = {0, bytes},
                                  .vector = vectors_[own_vectors() ? rank : 0].data()});
        }
    }

    /// Returns the vector that hosts would compute, if they reduced in the order of their ranks.
    std::vector<std::byte> expected() const {
        const std::size_t element = task_.reduction.element_bytes();
        std::vector<std::byte> sum(task_.bytes);
        std::vector<std::byte> next(task_.bytes);
        for (std::uint32_t rank = 0; rank < members_; ++rank) {
            for (std::uint64_t at = 0; at < task_.bytes; at += element) {
                (rank == 0 ? sum : next)[at] = std::byte{value(rank, at / element)};
            }
            if (rank != 0) {
                sharp::reduce_into(task_.reduction, sum, next.data());
            }
        }
        return sum;
    }

    SharpOutcome outcome() {
        const sharp::JobState& job = *manager_.job(job_);
        SharpOutcome out{.members = members_,
                         .depth = job.plan.depth,
                         .switches = static_cast<std::uint32_t>(job.plan.nodes.size()),
                         .streamed = streams(),
                         .took_ps = fabric_.ends().last_done() + task_.software_ps,
                         .events = fabric_.engine().stats().events,
                         .log_hash = fabric_.engine().stats().log_hash};
        for (std::uint32_t rank = 0; rank < members_; ++rank) {
            const auto counts = fabric_.engine().counts(fabric_.port(rank));
            out.host_sent_bytes = std::max(out.host_sent_bytes, counts.xmit_words * 4);
            out.host_received_bytes = std::max(out.host_received_bytes, counts.rcv_words * 4);
        }
        const topo::PortLink& cable = fabric_.topology().nodes[fabric_.node(0)].ports[1];
        out.link_bytes_per_s = link::kBlockBytes * 1'000'000'000'000ULL /
                               link::ps_per_block(cable.generation, cable.width);
        const std::vector<std::byte> right = expected();
        const std::size_t element = task_.reduction.element_bytes();
        for (const std::vector<std::byte>& vector : vectors_) {
            for (std::uint64_t at = 0; at < task_.bytes; at += element) {
                out.wrong_elements +=
                    std::memcmp(vector.data() + at, right.data() + at, element) != 0 ? 1U : 0U;
            }
        }
        return out;
    }

    SharpTask task_;
    routing::Graph graph_;
    routing::Lfts lfts_;
    std::map<Lid, std::unique_ptr<sharp::AggregationTables>> tables_;  ///< Tables of the switches.
    std::vector<std::vector<std::byte>> vectors_;
    Fabric<SharpHosts> fabric_;
    sharp::Manager manager_;
    std::uint32_t members_ = 0;
    sharp::JobId job_ = 0;
    sharp::GroupId group_ = 0;
};

}  // namespace

std::expected<SharpOutcome, std::string> simulate_sharp(Routed routed, PlantConfig config,
                                                        const SharpTask& task) {
    const std::size_t element = task.reduction.element_bytes();
    if (!sharp::is_supported(task.reduction) || task.bytes == 0 || task.bytes % element != 0 ||
        task.bytes > UINT32_MAX) {
        return std::unexpected("a vector has from 1 byte to 4 GiB, in whole elements of " +
                               std::to_string(element) + " bytes");
    }
    config.hca_ps = task.hca_ps;
    return SharpRun(std::move(routed), config, task).run();
}

}  // namespace softib::net
