// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a node answers about its counters (IBA vol. 1, chapter 16). The counters themselves are
// somebody else's and only ever grow; a Set here is remembered as what to subtract. The 32-bit
// and the 64-bit attributes are reset apart from each other, as in hardware.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/agent/lane_counts.h"
#include "core/agent/node.h"
#include "core/wire/mad.h"
#include "core/wire/pm.h"
#include "core/wire/port_samples_control.h"

namespace softib::agent {

/// Of one port since the fabric came up. Words are units of four bytes.
struct PortCounts {
    std::uint64_t xmit_words = 0;
    std::uint64_t rcv_words = 0;
    std::uint64_t xmit_packets = 0;
    std::uint64_t rcv_packets = 0;
    std::uint64_t multicast_xmit_packets = 0;
    std::uint64_t multicast_rcv_packets = 0;
    std::uint64_t xmit_wait = 0;
    std::uint64_t symbol_errors = 0;
    std::uint64_t link_recoveries = 0;
    std::uint64_t link_downed = 0;
    std::uint64_t rcv_errors = 0;
    std::uint64_t rcv_remote_physical_errors = 0;
    std::uint64_t rcv_switch_relay_errors = 0;
    std::uint64_t xmit_discards = 0;
    std::uint64_t lifetime_discards = 0;      ///< Of these: longer in the switch than it may be.
    std::uint64_t hoq_lifetime_discards = 0;  ///< Of these: too long at the head of a queue.
    std::uint64_t xmit_constraint_errors = 0;
    std::uint64_t rcv_constraint_errors = 0;
    std::uint64_t link_integrity_errors = 0;
    std::uint64_t buffer_overruns = 0;
    std::uint64_t vl15_dropped = 0;
    std::uint64_t qp1_dropped = 0;
    std::uint64_t rcv_fecn = 0;
    std::uint64_t rcv_becn = 0;
    // Of rcv_errors:
    std::uint64_t local_physical_errors = 0;
    std::uint64_t malformed_packet_errors = 0;
    // Of rcv_switch_relay_errors:
    std::uint64_t dlid_mapping_errors = 0;
    std::uint64_t vl_mapping_errors = 0;
    std::uint64_t looping_errors = 0;
    std::uint64_t time_congested = 0;  ///< Ticks in which one lane or more was.

    PortCounts& operator+=(const PortCounts& other);
};

class CounterSource {
  public:
    virtual ~CounterSource() = default;
    /// Called before each request: all that was counted until now is in what read() returns next.
    virtual void refresh() {}
    virtual PortCounts read(std::uint32_t node, std::uint8_t port) = 0;
    /// A source that does not tell lanes apart has none.
    virtual LaneCounts read_lanes(std::uint32_t /*node*/, std::uint8_t /*port*/) { return {}; }
};

class PerfAgent {
  public:
    /// Nothing: not a request of this class.
    std::optional<wire::MadBytes> answer(const Node& node, std::uint32_t id,
                                         const wire::MadBytes& request, CounterSource& counters);

  private:
    struct Request;
    struct Sampling {
        wire::PortSamplesControl control;
        PortCounts start;
    };
    using Bases = std::unordered_map<std::uint64_t, PortCounts>;

    PortCounts total(const Request& r, const Bases& bases) const;
    std::uint16_t port_counters(const Request& r);
    std::uint16_t port_counters_extended(const Request& r);
    std::uint16_t discard_details(const Request& r);
    std::uint16_t congestion_received(const Request& r);
    std::uint16_t congestion_sent(const Request& r);
    std::uint16_t error_details(const Request& r);
    std::uint16_t samples_control(const Request& r);
    std::uint16_t samples_result(const Request& r);
    // pma_lanes.cc
    template <typename T, typename Element, std::size_t N>
    std::uint16_t by_lane(const Request& r, std::array<Element, N> T::* field, PerLane kind);
    /// Nothing: not an attribute of this kind.
    std::optional<std::uint16_t> lane_counters(const Request& r, wire::PmAttribute attribute);

    Bases narrow_;
    Bases wide_;
    std::unordered_map<std::uint64_t, LaneCounts> lane_bases_;
    std::map<std::uint64_t, Sampling> samplings_;
};

}  // namespace softib::agent
