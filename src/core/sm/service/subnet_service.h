// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// All that runs on the port of a subnet manager: the manager itself, the SA with its RMPP, and the
// transfers that copy the SA's data to standby managers. The caller moves packets and tells the
// service the time.
//
// A master sends softib's standby managers the data that they need to take over: a snapshot after
// every change, at most every 20 ms. A standby keeps the last one, and begins with it when it
// becomes master.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/mad/packet.h"
#include "core/mad/rmpp_endpoint.h"
#include "core/sm/manager.h"
#include "core/sm/sa/subnet_admin.h"
#include "core/sm/service/replica.h"

namespace softib::sm {

class SubnetService {
  public:
    explicit SubnetService(ManagerConfig config);
    SubnetService(const SubnetService&) = delete;

    void start(std::uint64_t now_ns);
    /// The management classes whose MADs at this port are for the service, except for answers to
    /// requests of others. handle() drops all other MADs.
    static constexpr std::array kClasses{wire::MgmtClass::kSubnLidRouted,
                                         wire::MgmtClass::kSubnDirectedRoute,
                                         wire::MgmtClass::kSubnAdm, kReplicaClass};
    void handle(const mad::Packet& packet, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    /// Returns the next packet to send from this port, with the port's LID as SLID; std::nullopt if
    /// there is none.
    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);
    /// Returns the manager's next event, after the SA has taken it in.
    std::optional<ManagerEvent> poll_event();

    /// Sets the partitions, and adds the multicast groups that they ask for. Groups of earlier
    /// partitions stay.
    void set_partitions(std::vector<Partition> partitions, std::uint64_t now_ns);

    Manager& manager() { return manager_; }
    const Manager& manager() const { return manager_; }
    SubnetAdmin& admin() { return admin_; }
    /// Returns the number of RMPP transfers under way.
    std::size_t transfers() const { return rmpp_.transfers(); }

  private:
    std::optional<mad::Packet> poll_manager(std::uint64_t now_ns);
    void follow_manager(std::uint64_t now_ns);
    void follow(const ManagerEvent& event, std::uint64_t now_ns);
    void answer(std::uint64_t now_ns);
    void send(const SaPeer& to, std::vector<std::uint8_t> message, std::uint64_t now_ns);
    void follow_groups(std::uint64_t now_ns);
    void follow_guids(std::uint64_t now_ns);
    void add_groups(std::uint64_t now_ns);
    void replicate(std::uint64_t now_ns);
    bool may_replicate() const;
    bool heir_is_ready() const;
    void handle_replica(const mad::Packet& packet);
    std::optional<mad::Packet> poll_replica(std::uint64_t now_ns);

    Manager manager_;
    SubnetAdmin admin_;
    mad::RmppEndpoint rmpp_;
    std::vector<McastTree> trees_;
    std::deque<ManagerEvent> events_;

    std::vector<std::uint8_t> fresh_;  ///< The SA's data before the first registration.
    /// The snapshot with which a standby begins when it becomes master; empty if the SA's data
    /// stays as it is.
    std::vector<std::uint8_t> replica_;
    ReplicaReceiver receiver_;
    std::deque<mad::Packet> replies_;
    bool was_master_ = false;
    /// The transfer of the last snapshot to another manager.
    struct Copy {
        ReplicaSender sender;
        Lid lid;
    };
    std::map<std::uint64_t, Copy> copies_;  ///< A master's transfers, by the standby's port GUID.
    std::uint64_t replica_due_ns_ = 0;
    std::uint32_t transfers_ = 0;
};

}  // namespace softib::sm
