// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// All that runs on the port of a subnet manager: the manager itself, the subnet administration
// with its RMPP, and a copy of the administration's data at every manager that stands by. Somebody
// else carries its packets and tells it the time.
//
// A master sends the others of its kind what they need to go on in its place: after every change,
// but not more often than every 20 ms, a message of a vendor class, by RMPP, that holds
// the SM_Key and a snapshot. A manager that stands by keeps the last one, and begins with it when
// it becomes master.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/agent/packet.h"
#include "core/agent/rmpp_endpoint.h"
#include "core/sm/manager.h"
#include "core/sm/sa/subnet_admin.h"

namespace softib::sm {

/// The class of the messages between managers of our kind, in the range that has an OUI.
inline constexpr auto kReplicaClass = static_cast<wire::MgmtClass>(0x4D);
inline constexpr std::uint32_t kReplicaOui = 0x0250F7;

class SubnetService {
  public:
    explicit SubnetService(ManagerConfig config);
    SubnetService(const SubnetService&) = delete;

    void start(std::uint64_t now_ns);
    /// Whether a MAD that came to this port is for us rather than for some other program on it;
    /// of answers nobody can say but by the number of the request.
    static bool wants(const wire::MadBytes& mad);
    void handle(const agent::Packet& packet, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    /// What to send from this port; its source LID is the port's own.
    std::optional<agent::Packet> poll_transmit(std::uint64_t now_ns);
    /// What the manager did, once the administration knows it too.
    std::optional<ManagerEvent> poll_event();

    Manager& manager() { return manager_; }
    const Manager& manager() const { return manager_; }
    SubnetAdmin& admin() { return admin_; }

  private:
    void follow_manager(std::uint64_t now_ns);
    void follow(const ManagerEvent& event, std::uint64_t now_ns);
    void answer(std::uint64_t now_ns);
    void send(const SaPeer& to, std::vector<std::uint8_t> message, std::uint64_t now_ns);
    void follow_groups(std::uint64_t now_ns);
    void replicate(std::uint64_t now_ns);
    void take_replica(const agent::RmppEvent& event);

    Manager manager_;
    SubnetAdmin admin_;
    agent::RmppEndpoint rmpp_;
    std::vector<McastTree> trees_;
    std::deque<ManagerEvent> events_;

    std::vector<std::uint8_t> fresh_;  ///< The administration's data before anybody came.
    /// At a standby: the last that the master sent.
    std::vector<std::uint8_t> replica_;
    /// At the master: what each of the others was sent, by port GUID.
    struct Copy {
        std::uint64_t revision = 0;
        bool sent = false;
        bool settled = false;  ///< It has it, or does not want it.
    };
    std::map<std::uint64_t, Copy> copies_;
    bool was_master_ = false;
    std::uint64_t replica_due_ns_ = 0;
    std::uint32_t replicas_sent_ = 0;
};

}  // namespace softib::sm
