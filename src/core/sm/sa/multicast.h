// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The multicast groups of a subnet as the SA keeps them: their members and MLIDs (IBA vol. 1,
// 15.2.5.17). A group begins with its first full member and ends with its last one; only groups
// that the manager made itself stay. A port whose program died stays a member until a request
// deletes the membership or the port goes, because the SA cannot know.
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
#include "core/wire/mc_member_record.h"

namespace softib::sm {

inline constexpr std::uint8_t kScopeLinkLocal = 2;

/// What the SA knows of an end port.
struct SaPort {
    Gid gid;
    std::vector<PKey> pkeys;
    std::uint8_t mtu = 5;    ///< Encoded.
    std::uint8_t rate = 16;  ///< Encoded.
    bool trusted = false;    ///< A requester that gave the right SM_Key.
};

using SaPortLookup = std::function<std::optional<SaPort>(const Gid&)>;

/// The group that IP over InfiniBand needs to be there in a partition (RFC 4391): to broadcast.
/// 2,048 bytes and 10 Gb/s, so that every port fits.
wire::McMemberRecord ipoib_broadcast_group(PKey pkey);

struct SaMulticastLimits {
    std::size_t groups_max = 16'384;
    std::size_t groups_per_client_max = 256;
    /// MLIDs that every switch has an entry for; more groups share them.
    std::uint16_t mlids = 1024;
};

class SaMulticast {
  public:
    using Record = wire::McMemberRecord;
    /// The error is a MADHeader.Status.
    using Answer = std::expected<Record, std::uint16_t>;

    struct Member {
        std::uint8_t join_state = 0;
        bool proxy = false;  ///< Another port made it join.
    };
    struct Group {
        Record common;  ///< PortGID and JoinState are zero.
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

    /// `ports` finds the subnet's ports, and must outlive this.
    explicit SaMulticast(SaPortLookup ports, const SaMulticastLimits& limits = {})
        : ports_(std::move(ports)), limits_(limits), mlid_uses_(limits.mlids) {}

    std::size_t group_count() const { return groups_.size(); }
    const Group* find(const Gid& mgid) const;
    const std::map<Gid, Group>& groups() const { return groups_; }

    /// SubnAdmSet: joins the group, creating it where the request has all it takes.
    Answer handle_join(const Record& asked, std::uint64_t components, const SaPort& requester);
    /// SubnAdmDelete: leaves the group. The answer has the JoinState that remains.
    Answer handle_leave(const Record& asked, std::uint64_t components, const SaPort& requester);
    /// SubnAdmGet: the one that matches. Memberships are shown to the member and to the trusted.
    Answer handle_get(const Record& asked, std::uint64_t components, const SaPort& requester) const;
    /// SubnAdmGetTable: calls `found` for each record that matches; it returns false to end.
    std::uint16_t query(const Record& asked, std::uint64_t components, const SaPort& requester,
                        const std::function<bool(const Record&)>& found) const;

    /// A group of the manager's own, that needs no members: all but MLID is given.
    std::expected<Lid, std::uint16_t> add_permanent(const Record& group);
    /// As another SA had it.
    void restore(Group group);
    /// The port is gone, and so are its memberships.
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
    std::vector<std::uint32_t> mlid_uses_;  ///< Groups of each MLID.
    std::uint32_t assigned_mgids_ = 0;
    std::deque<Event> events_;
};

}  // namespace softib::sm
