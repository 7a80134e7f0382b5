// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The multicast groups of a subnet as subnet administration keeps them: who joined what, and the
// MLID of each group (IBA vol. 1, 15.2.5.17). A group begins with its first full member and ends
// with its last one. Nobody leaves for another: a port whose program died stays a member until
// somebody deletes the membership or the port goes, because the SA cannot know.
//
// Sans-I/O: decoded records in, decoded records or a status out. No clock, no packet.

#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/wire/mc_member_record.h"

namespace softib::sm {

/// What the SA knows of an end port.
struct SaPort {
    Gid gid;
    std::vector<PKey> pkeys;
    std::uint8_t mtu = 5;    ///< Encoded.
    std::uint8_t rate = 16;  ///< Encoded.
};

using SaPortLookup = std::function<std::optional<SaPort>(const Gid&)>;

class SaMulticast {
  public:
    using Record = wire::McMemberRecord;
    /// The error is a MADHeader.Status.
    using Answer = std::expected<Record, std::uint16_t>;

    static constexpr std::size_t kGroupsMax = 1024;

    /// Of the subnet's ports; must outlive this.
    explicit SaMulticast(SaPortLookup ports) : ports_(std::move(ports)) {}

    std::size_t group_count() const { return groups_.size(); }

    /// SubnAdmSet: joins the group, creating it where the request has all it takes.
    Answer handle_join(const Record& asked, std::uint64_t components, const SaPort& requester);
    /// SubnAdmDelete: leaves the group. The answer has the JoinState that remains.
    Answer handle_leave(const Record& asked, std::uint64_t components, const SaPort& requester);
    /// SubnAdmGet: the one group that matches. Memberships are shown to the member only.
    Answer handle_get(const Record& asked, std::uint64_t components, const SaPort& requester) const;

  private:
    struct Member {
        std::uint8_t join_state = 0;
        bool proxy = false;
    };
    struct Group {
        Record common;  ///< PortGID and JoinState are zero.
        std::map<Gid, Member> members;
    };
    using Groups = std::map<Gid, Group>;

    std::expected<Groups::iterator, std::uint16_t> create(const Record& asked,
                                                          std::uint64_t components,
                                                          const SaPort& port);
    std::optional<Lid> free_mlid() const;
    Gid unused_mgid(const Record& asked, std::uint64_t components, const SaPort& port);

    SaPortLookup ports_;
    Groups groups_;
    std::uint32_t assigned_mgids_ = 0;
};

}  // namespace softib::sm
