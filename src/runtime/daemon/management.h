// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The management side of a running fabric: the nodes with their agents, our subnet manager and SA
// on one of them, and the copy in the arena of what managers write. Services of the hosts and
// programs (libibumad) send from QP0 and QP1 of their host's ports. A MAD that no agent answers
// goes to the service or program that has registered for it (core/agent/mad_dispatcher.h).

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
#include "core/topo/graph.h"
#include "runtime/daemon/arena_writer.h"
#include "runtime/daemon/lid_file.h"
#include "runtime/daemon/mad/mad_cables.h"
#include "runtime/daemon/notice_log.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/channel.h"
#include "runtime/shm/requests.h"

namespace softib::daemon {

struct ManagementOptions {
    bool own_manager = true;      ///< If false, the subnet manager is a program, or there is none.
    bool own_aggregation = true;  ///< If false, the aggregation manager is a program.
    sm::ManagerConfig manager;
    LidFile lid_file;  ///< Where our manager's LIDs are kept for the next run.
};

class Management final : public agent::CounterSource {
  public:
    /// `arena` and `events` must outlive this object.
    Management(const shm::Arena& arena, shm::ChannelWriter& events, const topo::Fabric& fabric,
               const ManagementOptions& options);

    /// Runs our manager until the subnet is up.
    void start(std::uint64_t now_ns);
    /// Does what is due. Returns the time at which it must be called again; UINT64_MAX: none.
    std::uint64_t run(std::uint64_t now_ns);

    /// Sends a MAD from the port of an HCA, an index into the arena's table.
    void send(std::uint32_t hca, const mad::Packet& packet, std::uint64_t now_ns);
    /// A MAD that arrived at an HCA.
    struct Delivery {
        std::uint32_t hca;
        mad::Packet packet;
    };
    /// Registers a service on every HCA. The one without interests is for programs, and gets what
    /// no other service takes.
    agent::MadToken add_host_service(std::vector<agent::MadInterest> interests);
    agent::MadDispatcher& dispatcher() { return dispatcher_; }
    /// Returns the next MAD that arrived for a service, or std::nullopt if there is none.
    std::optional<Delivery> poll_delivery(agent::MadToken service);

    /// Says whether the other end of a trunk is there. Trunks have the numbers that they have in
    /// the fabric.
    void set_trunk(std::size_t trunk, bool up, std::uint64_t now_ns);
    /// Takes a MAD that came over a trunk.
    void arrive(std::size_t trunk, std::span<const std::uint8_t> bytes, std::uint64_t now_ns);
    /// A MAD that must leave over a trunk.
    struct TrunkMad {
        std::size_t trunk;
        std::array<std::uint8_t, agent::kOutboundBytes> bytes;
    };
    /// Returns the next MAD that must leave over a trunk, or std::nullopt if there is none.
    std::optional<TrunkMad> poll_trunk();

    /// Plugs in or pulls the cable at a port, for an operator. Returns false if there is none.
    bool set_plugged(const shm::NodeRef& node, std::uint8_t port, bool plugged,
                     std::uint64_t now_ns);
    /// Turns a switch on or off, for an operator. Returns false if there is no such switch.
    bool set_powered(std::uint32_t sw, bool powered, std::uint64_t now_ns);
    /// Writes one LFT entry, for an operator. Returns false if there is no such switch or LID.
    bool set_route(std::uint32_t sw, Lid lid, std::uint8_t port, std::uint64_t now_ns);
    /// Writes one entry of an HCA's P_Key table, for an operator. Returns false if there is no such
    /// HCA.
    bool set_pkey(std::uint32_t hca, std::uint16_t index, PKey pkey, std::uint64_t now_ns);
    /// Gives our manager other partitions. Returns false if there is no manager of ours.
    bool set_partitions(std::vector<sm::Partition> partitions, std::uint64_t now_ns);
    /// Raises the trap about a packet that a switch port or an HCA refused. The sender of the
    /// report has already counted the packet.
    void refuse(const shm::request::Refused& packet, std::uint64_t now_ns);
    /// Raises the trap about a port whose cable makes too many errors.
    void tell_bad_link(const shm::request::BadLink& link, std::uint64_t now_ns);
    /// Sets or clears the IsSM bit of an HCA's port.
    void set_is_manager(std::uint32_t hca, bool is_manager, std::uint64_t now_ns);

    /// Says whether the HCAs of programs run, which on the packet path needs a carrier.
    void set_adapters_run(bool run) { writer_.set_adapters_run(mesh_, run); }
    bool adapters_run() const { return writer_.adapters_run(); }

    const agent::Mesh& mesh() const { return mesh_; }
    /// Returns the mesh nodes of the switches, in the order of the arena's table.
    std::span<const agent::NodeId> switch_nodes() const { return switch_nodes_; }
    /// Returns our subnet manager; nullptr if there is none.
    sm::Manager* manager() { return service_ ? &service_->manager() : nullptr; }
    const sm::Manager* manager() const { return service_ ? &service_->manager() : nullptr; }

    /// Returns our aggregation manager. The caller calls run() after a command, to send its MADs.
    sharp::Manager& aggregation() { return aggregation_.manager(); }
    const sharp::Manager& aggregation() const { return aggregation_.manager(); }
    /// Returns the client of an aggregation manager that is a program; nullptr if we use ours.
    sharp::JobClient* job_client() { return job_client_ ? &*job_client_ : nullptr; }
    const sharp::JobClient* job_client() const { return job_client_ ? &*job_client_ : nullptr; }
    /// Makes our aggregation manager read the routes again if they may have changed; called before
    /// a job starts.
    void freshen_aggregation(std::uint64_t now_ns);
    /// Tells our aggregation manager that routes may have changed.
    void note_new_routes(std::uint64_t now_ns) { aggregation_.note_change(now_ns); }
    /// Returns the tables of the aggregation node with this LID; nullptr if there is none.
    const sharp::AggregationTables* aggregation_tables(Lid lid) const;
    /// Sets a function that refresh() calls on the direct path, before counters are read.
    void set_settler(std::function<void()> settler) { settler_ = std::move(settler); }
    const NoticeLog& notices() const { return notices_; }

    /// Brings the port totals up to date (counters.h).
    void refresh() override;
    counters::PortCounts read(std::uint32_t node, std::uint8_t port) override;
    counters::LaneCounts read_lanes(std::uint32_t node, std::uint8_t port) override;
    wire::SharpPerformanceCounters read_aggregation(std::uint32_t node) override;

  private:
    agent::NodeId node_of(const shm::NodeRef& place) const;
    /// Returns the port at an index of the arena's switch port table; std::nullopt if there is
    /// none.
    std::optional<agent::End> switch_port(std::uint32_t index) const;
    void drive(std::uint64_t now_ns);
    bool drive_service(std::uint64_t now_ns);
    bool drive_aggregation(std::uint64_t now_ns);
    /// Tells our aggregation manager the LID of the subnet manager.
    void know_subnet_manager();
    /// Notes and logs an event of our subnet manager.
    void tell(const sm::ManagerEvent& event);
    void refuse_passage(const shm::request::Refused& packet);
    void refuse_at_end(const shm::request::Refused& packet);
    void take_violations();

    const shm::Arena& arena_;
    agent::Mesh mesh_;
    LidFile lid_file_;
    ArenaWriter writer_;  // After the mesh, which it reads.
    MadCables cables_;
    std::vector<agent::NodeId> hca_nodes_;
    struct Violations {
        std::uint64_t pkeys = 0;
        std::uint64_t qkeys = 0;
    };
    std::uint64_t violations_ = 0;           ///< ArenaHeader::key_violations as last read.
    std::vector<Violations> violations_of_;  ///< Violations of each HCA as last read.
    std::vector<agent::NodeId> switch_nodes_;
    std::vector<agent::NodeId> trunk_nodes_;
    std::optional<sm::SubnetService> service_;
    agent::End service_at_;
    agent::MadDispatcher dispatcher_;
    agent::MadToken service_token_ = 0;  ///< Token of our subnet manager, if there is one.
    sharp::ManagerService aggregation_;
    mad::RmppEndpoint aggregation_rmpp_;  ///< For long answers of the SA to it.
    std::optional<sharp::JobClient> job_client_;
    agent::MadToken aggregation_token_ = 0;
    std::function<void()> settler_;
    NoticeLog notices_;
};

}  // namespace softib::daemon
