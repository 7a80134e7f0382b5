// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Partitions say which ports may talk to each other. This reads them in the syntax of OpenSM's
// partitions.conf, and makes P_Key tables of them. A definition ends with ';' and may take several
// lines; '#' begins a comment.
//
//   Default=0x7fff, ipoib : ALL=limited, SELF=full ;
//   blue=0x10, indx0, defmember=full : 0x0250f71b10000000, 0x0250f71b10000100=limited ;
//
// Definitions of one key are one partition. Among several rules for a port the last counts. The
// manager's own port is a full member of the default partition whatever the text says; where the
// text does not define that partition, all others are limited members of it.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/wire/node_info.h"

namespace softib::sm {

inline constexpr PKey kPKeyDefaultLimited{0x7FFF};

enum class Membership : std::uint8_t { kLimited, kFull, kBoth };

struct PartitionMember {
    enum Who : std::uint8_t { kPort, kAll, kAllAdapters, kAllSwitches, kAllRouters, kSelf };
    Who who = kPort;
    Guid guid{};  ///< GUID of a port.
    Membership membership = Membership::kLimited;
};

/// Traits of a multicast group; codes as in MCMemberRecord. The SA chooses those not given.
struct GroupTraits {
    std::optional<std::uint8_t> rate;
    std::optional<std::uint8_t> mtu;
    std::optional<std::uint8_t> sl;
    std::vector<std::uint8_t> scopes;  ///< A group in each of them; none: as the MGID says.
    std::optional<QKey> qkey;
    std::optional<std::uint8_t> tclass;
    std::optional<std::uint32_t> flow_label;
};

struct PartitionGroup {
    Gid mgid;
    GroupTraits traits;
};

struct Partition {
    std::string name;
    PKey pkey{};  ///< Without the bit of full membership.
    bool at_index0 = false;
    bool ipoib = false;  ///< Has a broadcast group, with the traits below.
    GroupTraits broadcast{};
    std::vector<PartitionMember> members{};
    std::vector<PartitionGroup> groups{};
};

struct PartitionError {
    std::size_t line = 0;
    std::string message;
};

std::expected<std::vector<Partition>, PartitionError> parse_partitions(std::string_view text);

/// An end port, as membership rules tell them apart.
struct PartitionPort {
    Guid guid;
    wire::NodeType type = wire::NodeType::kChannelAdapter;
    bool is_manager = false;
};

/// The keys of a port, that for index 0 first.
std::vector<PKey> keys_of(const std::vector<Partition>& partitions, const PartitionPort& port);

/// A table of `capacity` entries with these keys and no others. Queue pairs know a key by its
/// index, so a partition that was in the table stays where it was; only `keys[0]` goes to index 0.
/// What finds no room is left out.
std::vector<PKey> place_keys(std::span<const PKey> before, std::span<const PKey> keys,
                             std::size_t capacity);

}  // namespace softib::sm
