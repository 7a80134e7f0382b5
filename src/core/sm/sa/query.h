// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What the queries for all kinds of records share: the parsed request, the requester and what it
// may see, and the table of the answer's records.

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/sm/subnet.h"
#include "core/wire/format/layout.h"
#include "core/wire/sa/sa.h"

namespace softib::sm {

/// A MADHeader.Status.
using SaStatus = std::uint16_t;

/// The port that asks, and its rights.
struct SaRequester {
    Lid lid{};
    Qpn qp{1};
    EndPort port{};
    bool trusted = false;  ///< Whether it gave the right SM_Key.
};

/// A parsed request. `subnet` must outlive it.
struct SaQuery {
    const Subnet& subnet;
    SaRequester requester;
    wire::Method method{};
    std::uint32_t modifier = 0;
    std::uint64_t components = 0;
    std::span<const std::uint8_t> data;
    std::uint64_t now_ns = 0;

    bool has(std::uint64_t bits) const { return (components & bits) == bits; }
    /// Returns the record in the request; fields that its data does not reach are zero.
    template <wire::Attribute Record>
    Record record() const {
        std::array<std::uint8_t, Record::kBytes> bytes{};
        std::copy_n(data.begin(), std::min(data.size(), bytes.size()), bytes.begin());
        return wire::parse<Record>(bytes);
    }
};

/// The records of an answer one after the other, with room for the header before them.
class SaTable {
  public:
    SaTable(std::size_t records_max, std::size_t bytes_max)
        : records_max_(records_max), bytes_max_(bytes_max) {
        bytes_.reserve(wire::kMadBytes);
        bytes_.resize(wire::kSaDataOffset);
    }

    std::size_t count() const { return count_; }
    std::uint16_t attribute_offset() const { return attribute_offset_; }
    /// Returns whether no further record is wanted, or none fits.
    bool full() const { return count_ >= records_max_ || overflowed_; }
    bool overflowed() const { return overflowed_; }
    void clear() {
        bytes_.resize(wire::kSaDataOffset);
        count_ = 0;
    }

    template <wire::Attribute Record>
    void add(const Record& record) {
        if (full()) {
            return;
        }
        constexpr std::size_t kBytes = wire::kSaAttributeOffset<Record> * std::size_t{8};
        const std::size_t begin = bytes_.size();
        if (begin + kBytes > bytes_max_) {
            overflowed_ = true;
            return;
        }
        bytes_.resize(begin + kBytes);
        wire::emit(record, std::span(bytes_).subspan(begin));
        attribute_offset_ = wire::kSaAttributeOffset<Record>;
        ++count_;
    }

    std::vector<std::uint8_t> take() { return std::move(bytes_); }

  private:
    std::vector<std::uint8_t> bytes_;
    std::size_t count_ = 0;
    std::size_t records_max_;
    std::size_t bytes_max_;
    std::uint16_t attribute_offset_ = 0;
    bool overflowed_ = false;
};

/// Returns the P_Keys of a port: those of its table, or the default P_Key if it has none.
std::span<const PKey> pkeys_of(const Subnet& subnet, EndPort end);
/// Returns whether some P_Key of `a` matches some P_Key of `b`.
bool share_partition(std::span<const PKey> a, std::span<const PKey> b);
/// Returns whether one of the P_Keys is of the same partition, as a full or limited member.
bool in_partition(std::span<const PKey> keys, PKey pkey);
/// Returns whether the requester may see records about a port: it must share a partition with the
/// port, or be trusted (IBA vol. 1, 15.4.1).
bool may_see(const SaQuery& query, EndPort end);

/// Returns the end port that a port of a node belongs to: port 0 of a switch, else itself.
inline EndPort end_port_of(const Subnet& subnet, NodeIndex node, std::uint8_t port) {
    return {node, subnet.node(node).is_switch() ? std::uint8_t{0} : port};
}
inline Lid base_lid(const Subnet& subnet, EndPort end) {
    return subnet.port(end).info.lid;
}
inline bool same(EndPort a, EndPort b) {
    return a.node == b.node && a.port == b.port;
}
Gid gid_of(const Subnet& subnet, EndPort end);

/// Calls fn(port number) for the ports that an end port's LID stands for: all ports of a switch, or
/// one of an HCA.
template <typename Fn>
void for_each_port_of(const Subnet& subnet, EndPort end, Fn&& fn) {
    const SubnetNode& node = subnet.node(end.node);
    if (!node.is_switch()) {
        fn(end.port);
        return;
    }
    for (std::size_t port = 0; port < node.ports.size(); ++port) {
        fn(static_cast<std::uint8_t>(port));
    }
}

/// Calls fn(EndPort) for the end port that has `lid`, if the request has a LID; else for all that
/// have LIDs.
template <typename Fn>
void for_each_asked(const SaQuery& query, bool has_lid, Lid lid, Fn&& fn) {
    if (has_lid) {
        if (const std::optional<EndPort> end = query.subnet.by_lid(lid)) {
            fn(*end);
        }
        return;
    }
    query.subnet.for_each_end_port([&](EndPort end) {
        if (base_lid(query.subnet, end) != kLidUnassigned) {
            fn(end);
        }
    });
}

}  // namespace softib::sm
