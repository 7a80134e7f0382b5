// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The management side of a running fabric: the nodes with their agents, our subnet manager with
// its administration on one of them, and the arena kept in step with what managers write. Services
// of the hosts and programs (libibumad) send from the QP0 and QP1 of their host's ports and get
// what no agent answers, each what it has registered for (core/agent/mad_dispatcher.h).

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/agent/mad_dispatcher.h"
#include "core/agent/mesh.h"
#include "core/agent/outbound.h"
#include "core/mad/rmpp_endpoint.h"
#include "core/sharp/manager/job_client.h"
#include "core/sharp/manager/manager_service.h"
#include "core/sm/service/subnet_service.h"
#include "core/topo/fabric.h"
#include "runtime/daemon/arena_writer.h"
#include "runtime/daemon/lid_file.h"
#include "runtime/daemon/mad/mad_cables.h"
#include "runtime/daemon/notice_log.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/channel.h"
#include "runtime/shm/requests.h"

namespace softib::live {

struct ManagementOptions {
    bool own_manager = true;      ///< False: another one, a program, does the work, or nobody.
    bool own_aggregation = true;  ///< The same of the aggregation manager.
    sm::ManagerConfig manager;
    LidFile lid_file;  ///< Where its LIDs are kept for the next run.
};

class Management final : public agent::CounterSource {
  public:
    /// `arena` and `events` outlive it.
    Management(const Arena& arena, ChannelWriter& events, const topo::Fabric& fabric,
               const ManagementOptions& options);

    /// Runs our manager until the subnet is up.
    void start(std::uint64_t now_ns);
    /// Does what is due; returns when it wants to be called again (UINT64_MAX: not by itself).
    std::uint64_t run(std::uint64_t now_ns);

    /// A MAD from the port of an HCA (index into the arena's table).
    void send(std::uint32_t hca, const mad::Packet& packet, std::uint64_t now_ns);
    struct Delivery {
        std::uint32_t hca;
        mad::Packet packet;
    };
    /// Registers a service on every HCA; without interests the one that programs are behind.
    agent::MadToken add_host_service(std::vector<agent::MadInterest> interests);
    agent::MadDispatcher& dispatcher() { return dispatcher_; }
    /// What arrived at an HCA for a service.
    std::optional<Delivery> poll_delivery(agent::MadToken service);

    /// Trunks are numbered as in the fabric. Whether the other end is there;
    void set_trunk(std::size_t trunk, bool up, std::uint64_t now_ns);
    /// a MAD came from there, in bytes;
    void arrive(std::size_t trunk, std::span<const std::uint8_t> bytes, std::uint64_t now_ns);
    /// a MAD goes there.
    struct TrunkMad {
        std::size_t trunk;
        std::array<std::uint8_t, agent::kOutboundBytes> bytes;
    };
    std::optional<TrunkMad> poll_trunk();

    /// For the sake of trying what happens.
    bool set_plugged(const NodeRef& node, std::uint8_t port, bool plugged, std::uint64_t now_ns);
    bool set_powered(std::uint32_t sw, bool powered, std::uint64_t now_ns);
    bool set_route(std::uint32_t sw, Lid lid, std::uint8_t port, std::uint64_t now_ns);
    bool set_pkey(std::uint32_t hca, std::uint16_t index, PKey pkey, std::uint64_t now_ns);
    /// Gives our manager other partitions. Returns false if there is no manager of ours.
    bool set_partitions(std::vector<sm::Partition> partitions, std::uint64_t now_ns);
    /// A program's packet that a switch port or an adapter did not take; the program has counted
    /// it.
    void refuse(const request::Refused& packet, std::uint64_t now_ns);
    /// A port whose cable makes too many errors.
    void tell_bad_link(const request::BadLink& link, std::uint64_t now_ns);
    void set_is_manager(std::uint32_t hca, bool is_manager, std::uint64_t now_ns);

    /// Whether somebody is the programs' adapters; the direct path needs nobody for that.
    void set_adapters_run(bool run) { writer_.set_adapters_run(mesh_, run); }
    bool adapters_run() const { return writer_.adapters_run(); }

    const agent::Mesh& mesh() const { return mesh_; }
    /// By index into the arena's table.
    std::span<const agent::NodeId> switch_nodes() const { return switch_nodes_; }
    sm::Manager* manager() { return service_ ? &service_->manager() : nullptr; }
    const sm::Manager* manager() const { return service_ ? &service_->manager() : nullptr; }

    /// The aggregation manager. Whoever commands it calls run() then, for its MADs.
    sharp::Manager& aggregation() { return aggregation_.manager(); }
    const sharp::Manager& aggregation() const { return aggregation_.manager(); }
    /// Asks the aggregation manager that is a program; nullptr: ours does the work.
    sharp::JobClient* job_client() { return job_client_ ? &*job_client_ : nullptr; }
    const sharp::JobClient* job_client() const { return job_client_ ? &*job_client_ : nullptr; }
    /// It reads the routes again if they may be others: before a job starts,
    void freshen_aggregation(std::uint64_t now_ns);
    /// and when a manager has written something.
    void note_new_routes(std::uint64_t now_ns) { aggregation_.note_change(now_ns); }
    /// The tables of the aggregation node with this LID; nullptr: there is none.
    const sharp::AggregationTables* aggregation_tables(Lid lid) const;
    /// Called before counters are read.
    void set_settler(std::function<void()> settler) { settler_ = std::move(settler); }
    const NoticeLog& notices() const { return notices_; }

    void refresh() override;
    counters::PortCounts read(std::uint32_t node, std::uint8_t port) override;
    counters::LaneCounts read_lanes(std::uint32_t node, std::uint8_t port) override;
    wire::SharpPerformanceCounters read_aggregation(std::uint32_t node) override;

  private:
    agent::NodeId node_of(const NodeRef& place) const;
    /// By index into the arena's table.
    std::optional<agent::End> switch_port(std::uint32_t index) const;
    void drive(std::uint64_t now_ns);
    bool drive_service(std::uint64_t now_ns);
    bool drive_aggregation(std::uint64_t now_ns);
    void know_subnet_manager();
    void tell(const sm::ManagerEvent& event);
    void refuse_passage(const request::Refused& packet);
    void refuse_at_end(const request::Refused& packet);
    void take_violations();

    const Arena& arena_;
    agent::Mesh mesh_;
    LidFile lid_file_;
    ArenaWriter writer_;  // After the mesh it reads.
    MadCables cables_;
    std::vector<agent::NodeId> hca_nodes_;
    struct Violations {
        std::uint64_t pkeys = 0;
        std::uint64_t qkeys = 0;
    };
    std::uint64_t violations_ = 0;           ///< As the arena counted them when last looked at,
    std::vector<Violations> violations_of_;  ///< and those of each HCA.
    std::vector<agent::NodeId> switch_nodes_;
    std::vector<agent::NodeId> trunk_nodes_;
    std::optional<sm::SubnetService> service_;
    agent::End service_at_;
    agent::MadDispatcher dispatcher_;
    agent::MadToken service_token_ = 0;  ///< Of our manager, where there is one.
    sharp::ManagerService aggregation_;
    mad::RmppEndpoint aggregation_rmpp_;  ///< The SA's answers to it are long.
    std::optional<sharp::JobClient> job_client_;
    agent::MadToken aggregation_token_ = 0;
    std::function<void()> settler_;
    NoticeLog notices_;
};

}  // namespace softib::live
