// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads partitions, which say which ports may talk to each other, in the syntax of OpenSM's
// partitions.conf, and makes P_Key tables of them. A definition ends with ';' and may take several
// lines; '#' begins a comment.
//
//   Default=0x7fff, ipoib : ALL=limited, SELF=full ;
//   blue=0x10, indx0, defmember=full : 0x0250f71b10000000, 0x0250f71b10000100=limited ;
//
// Several definitions with one P_Key are one partition. If several rules name a port, the last one
// counts. The manager's own port is a full member of the default partition whatever the text says;
// if the text does not define that partition, all other ports are limited members of it.

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/wire/sm/node_info.h"

namespace softib::sm {

inline constexpr PKey kPKeyDefaultLimited{0x7FFF};

enum class Membership : std::uint8_t { kLimited, kFull, kBoth };

struct PartitionMember {
    enum Who : std::uint8_t { kPort, kAll, kAllAdapters, kAllSwitches, kAllRouters, kSelf };
    Who who = kPort;
    Guid guid{};  ///< GUID of a port.
    Membership membership = Membership::kLimited;
};

/// Traits of a multicast group, with the codes of MCMemberRecord. The SA chooses those not given.
struct GroupTraits {
    std::optional<std::uint8_t> rate;
    std::optional<std::uint8_t> mtu;
    std::optional<std::uint8_t> sl;
    std::vector<std::uint8_t> scopes;  ///< One group is made for each; empty: the MGID's scope.
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
    PKey pkey{};              ///< P_Key without the bit of full membership.
    bool at_index0 = false;   ///< Whether its P_Key goes to index 0 of the tables.
    bool ipoib = false;       ///< Whether it has a broadcast group for IPoIB.
    GroupTraits broadcast{};  ///< Traits of the broadcast group.
    std::vector<PartitionMember> members{};
    std::vector<PartitionGroup> groups{};
};

struct PartitionError {
    std::size_t line = 0;
    std::string message;
};

std::expected<std::vector<Partition>, PartitionError> parse_partitions(std::string_view text);

/// The properties of an end port that membership rules look at.
struct PartitionPort {
    Guid guid;
    wire::NodeType type = wire::NodeType::kChannelAdapter;
    bool is_manager = false;
};

/// Returns the P_Keys of a port, the one for index 0 first.
std::vector<PKey> keys_of(const std::vector<Partition>& partitions, const PartitionPort& port);

/// Returns a P_Key table of `capacity` entries with these P_Keys and no others. Queue pairs use a
/// P_Key by its index, so a partition that was in the table `before` stays where it was; only
/// `keys[0]` goes to index 0. P_Keys that find no room are left out.
std::vector<PKey> place_keys(std::span<const PKey> before, std::span<const PKey> keys,
                             std::size_t capacity);

}  // namespace softib::sm
