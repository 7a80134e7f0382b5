// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The multicast groups of a subnet as the SA keeps them: their members and MLIDs (IBA vol. 1,
// 15.2.5.17). A group is created by its first full member and ends with its last one; only groups
// that the manager made itself stay. A port whose program died stays a member until a request
// deletes the membership or the port goes, because the SA does not learn of the program's end.
//
// Sans-I/O: decoded records in, decoded records or a status out. No clock, no packet.

#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/wire/sa/mc_member_record.h"

namespace softib::sm {

inline constexpr std::uint8_t kScopeLinkLocal = 2;

/// An end port, with the properties that decide which groups it may join.
struct SaPort {
    Gid gid;
    std::vector<PKey> pkeys;
    std::uint8_t mtu = 5;    ///< Code of its MTU.
    std::uint8_t rate = 16;  ///< Code of its rate.
    bool trusted = false;    ///< Whether it is a requester that gave the right SM_Key.
};

using SaPortLookup = std::function<std::optional<SaPort>(const Gid&)>;

/// Returns the broadcast group that IP over InfiniBand needs in a partition (RFC 4391). Its MTU is
/// 2,048 bytes and its rate 10 Gb/s, so that every port can join.
wire::McMemberRecord ipoib_broadcast_group(PKey pkey);

struct SaMulticastLimits {
    std::size_t groups_max = 16'384;
    std::size_t groups_per_client_max = 256;
    /// Number of MLIDs, for each of which every switch has an entry. Further groups share them.
    std::uint16_t mlids = 1024;
};

class SaMulticast {
  public:
    using Record = wire::McMemberRecord;
    /// A record, or a MADHeader.Status as the error.
    using Answer = std::expected<Record, std::uint16_t>;

    struct Member {
        std::uint8_t join_state = 0;
        bool proxy = false;  ///< Whether another port joined on its behalf.
    };
    struct Group {
        Record common;  ///< The fields of all members; PortGID and JoinState are zero.
        std::map<Gid, Member> members{};
        Gid creator{};
        bool permanent = false;
    };
    struct Event {
        enum Kind : std::uint8_t { kCreated, kDeleted, kMembersChanged };
        Kind kind{};
        Gid mgid;
        Lid mlid;
        PKey pkey;
    };

    /// `ports` finds the subnet's ports by GID; what it refers to must outlive this object.
    explicit SaMulticast(SaPortLookup ports, const SaMulticastLimits& limits = {})
        : ports_(std::move(ports)), limits_(limits), mlid_uses_(limits.mlids) {}

    std::size_t group_count() const { return groups_.size(); }
    const Group* find(const Gid& mgid) const;
    const std::map<Gid, Group>& groups() const { return groups_; }

    /// Handles SubnAdmSet: joins a group, and creates it first if it does not exist and the request
    /// has all components that this needs.
    Answer handle_join(const Record& asked, std::uint64_t components, const SaPort& requester);
    /// Handles SubnAdmDelete: leaves a group. The answer has the JoinState that remains.
    Answer handle_leave(const Record& asked, std::uint64_t components, const SaPort& requester);
    /// Handles SubnAdmGet: returns the one record that matches. Memberships are shown only to the
    /// member itself and to trusted requesters.
    Answer handle_get(const Record& asked, std::uint64_t components, const SaPort& requester) const;
    /// Handles SubnAdmGetTable: calls `found` for each record that matches, until `found` returns
    /// false.
    std::uint16_t query(const Record& asked, std::uint64_t components, const SaPort& requester,
                        const std::function<bool(const Record&)>& found) const;

    /// Adds a group of the manager's own, which needs no members, and returns its MLID. `group`
    /// gives all fields but the MLID.
    std::expected<Lid, std::uint16_t> add_permanent(const Record& group);
    /// Adds a group as the snapshot of another SA has it.
    void restore(Group group);
    /// Removes the memberships of a port that is gone.
    void remove_port(const Gid& port);

    std::optional<Event> poll_event();

  private:
    using Groups = std::map<Gid, Group>;

    std::expected<Groups::iterator, std::uint16_t> create(const Record& asked,
                                                          std::uint64_t components,
                                                          const SaPort& port,
                                                          const SaPort& requester);
    std::expected<Record, std::uint16_t> common_of(const Record& asked, std::uint64_t components,
                                                   const SaPort& port);
    Groups::iterator insert(Group group);
    void end_if_abandoned(Groups::iterator group);
    void query_group(const Group& group, const Record& asked, std::uint64_t components,
                     const SaPort& requester, const std::function<bool(const Record&)>& found,
                     bool& going) const;
    std::optional<Lid> pick_mlid(const Record& group, std::optional<Lid> wanted) const;
    Gid unused_mgid(const Record& asked, std::uint64_t components, const SaPort& port);
    void tell(Event::Kind kind, const Record& group);

    SaPortLookup ports_;
    SaMulticastLimits limits_;
    Groups groups_;
    std::map<Gid, std::size_t> created_by_;
    std::vector<std::uint32_t> mlid_uses_;  ///< Number of groups of each MLID.
    std::uint32_t assigned_mgids_ = 0;
    std::deque<Event> events_;
};

}  // namespace softib::sm
