// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Subnet administration, the SA (IBA vol. 1, chapter 15): answers requests of class SubnAdm from
// the subnet's database. SubnetAdmin checks versions, keys, methods and attributes; each kind of
// record has a file of its own.
//
// Files: subnet_admin.cc takes requests, subnet_admin_events.cc sends reports, ends leases and
// follows groups, snapshot.cc writes and reads the data that must survive a change of the master.
//
// Sans-I/O. A request is a whole message: MAD header, RMPP header, SA header, and the data. An
// answer is a whole message too; if its RMPP header has the flag Active, it must go by RMPP,
// however short. Time is an argument.

#include <cstdint>
#include <expected>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/sm/sa/guids.h"
#include "core/sm/sa/multicast.h"
#include "core/sm/sa/path_records.h"
#include "core/sm/sa/query.h"
#include "core/sm/sa/reports.h"
#include "core/sm/sa/request_queue.h"
#include "core/sm/sa/services.h"
#include "core/sm/sa/subscriptions.h"
#include "core/wire/sa/sm_info_record.h"

namespace softib::sm {

struct SaConfig {
    std::uint64_t sm_key = 1;  ///< A requester that gives it is trusted.
    Guid port_guid{};          ///< GUID of the port that the SA runs on.
    PathSettings paths{};
    SaMulticastLimits multicast{};
    SaServiceLimits services{};
    SaSubscriptionLimits subscriptions{};
    SaReportLimits reports{};
    SaQueueLimits queue{};
    std::size_t table_bytes_max = std::size_t{64} << 20;
};

class SubnetAdmin {
  public:
    /// `subnet` must outlive this object.
    SubnetAdmin(const Subnet& subnet, SaConfig config);
    SubnetAdmin(const SubnetAdmin&) = delete;

    /// Returns the answer to a request; std::nullopt if the message is no request, comes from a LID
    /// that no port has, or has a wrong SM_Key.
    std::optional<std::vector<std::uint8_t>> handle(std::span<const std::uint8_t> request, Lid slid,
                                                    Qpn qp, std::uint64_t now_ns);

    /// Queues a request. Answers come out at poll_answer(), for one port after the other. A port
    /// that has too many requests waiting is answered "busy" at once.
    void submit(std::vector<std::uint8_t> request, const SaPeer& from);
    std::optional<SaOutgoing> poll_answer(std::uint64_t now_ns);
    std::size_t waiting() const { return queue_.size(); }
    /// Returns the answer "busy", to send instead of an answer for which RMPP has no room now.
    static std::vector<std::uint8_t> busy_instead(std::span<const std::uint8_t> answer);

    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;

    /// Reports a trap that a node sent to the manager to its subscribers.
    void report_trap(const wire::Notice& trap, std::uint64_t now_ns);
    /// Reports to subscribers that the port of a GID is in service (notice 64) or not any more
    /// (notice 65).
    void report_port(const Gid& gid, bool in_service, std::vector<PKey> partitions,
                     std::uint64_t now_ns);
    /// Returns the next Report to send to a subscriber; std::nullopt if there is none. The caller
    /// must pass its answer to handle() or submit().
    std::optional<SaOutgoing> poll_report() { return reports_.poll(subnet_); }

    /// Forgets what the port has joined, subscribed and registered.
    void forget_port(const Gid& gid, std::uint64_t now_ns);

    /// Adds a multicast group of the manager's own, and returns its MLID.
    std::expected<Lid, SaStatus> add_group(const wire::McMemberRecord& group, std::uint64_t now_ns);
    /// Returns the next MLID whose members have changed; std::nullopt if there is none.
    std::optional<Lid> poll_changed_mlid();
    struct GroupMember {
        EndPort port;
        bool receives = false;  ///< Whether it receives; else it only sends.
    };
    std::vector<GroupMember> members_of(Lid mlid) const;

    /// Returns what another SA needs to take over: groups, services, subscriptions, alias GUIDs.
    std::vector<std::uint8_t> snapshot(std::uint64_t now_ns) const;
    /// Replaces all data by that of a snapshot. Returns what is wrong with the snapshot, with
    /// nothing changed, if it is malformed.
    std::expected<void, std::string> restore(std::span<const std::uint8_t> snapshot,
                                             std::uint64_t now_ns);

    /// A number that changes whenever snapshot() may return something else.
    std::uint64_t revision() const { return revision_; }

    /// Sets the managers of the subnet, this one included, for SMInfoRecord.
    void set_managers(std::vector<wire::SmInfoRecord> managers) { managers_ = std::move(managers); }

    const SaMulticast& multicast() const { return multicast_; }
    const SaServices& services() const { return services_; }
    const SaSubscriptions& subscriptions() const { return subscriptions_; }
    const SaReports& reports() const { return reports_; }
    SaGuids& guids() { return guids_; }

  private:
    SaStatus dispatch(const SaQuery& query, wire::SaAttribute attribute, SaTable& table);
    SaStatus dispatch_get(const SaQuery& query, wire::SaAttribute attribute, SaTable& table);
    SaStatus handle_guids(const SaQuery& query, SaTable& table);
    SaStatus handle_services(const SaQuery& query, SaTable& table);
    SaStatus handle_mc_member(const SaQuery& query, SaTable& table);
    SaStatus handle_managers(const SaQuery& query, SaTable& table) const;
    SaPort port_of(EndPort end) const;
    std::optional<SaPort> port_of(const Gid& gid) const;
    void settle_groups(std::uint64_t now_ns);
    void tell(const SaNotice& notice, std::uint64_t now_ns);
    SaNotice own_notice(std::uint16_t trap, const Gid& about, std::vector<PKey> partitions) const;

    const Subnet& subnet_;
    SaConfig config_;
    SaGuids guids_;
    SaMulticast multicast_;
    SaServices services_;
    SaSubscriptions subscriptions_;
    SaReports reports_;
    SaRequestQueue queue_;
    std::deque<SaOutgoing> refused_;
    std::set<Lid> changed_mlids_;
    std::vector<wire::SmInfoRecord> managers_;
    std::uint64_t revision_ = 0;
};

}  // namespace softib::sm
