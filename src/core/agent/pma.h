// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The performance management agent (IBA vol. 1, chapter 16). The counters themselves are kept by a
// CounterSource and only ever grow (core/counters); the agent remembers a Set as the value to
// subtract from then on. Each attribute that shows a counter is reset by itself, as in hardware.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/agent/node.h"
#include "core/counters/lane_counts.h"
#include "core/counters/port_counters.h"
#include "core/wire/mad/mad.h"
#include "core/wire/pm/pm.h"
#include "core/wire/pm/port_samples_control.h"
#include "core/wire/sharp/sharp_performance_counters.h"

namespace softib::agent {

/// The counters of all ports, as the code that moves data keeps them.
class CounterSource {
  public:
    virtual ~CounterSource() = default;
    /// Brings the counters up to date. The agent calls this before each request, so that read()
    /// returns all that was counted until then.
    virtual void refresh() {}
    virtual counters::PortCounts read(std::uint32_t node, std::uint8_t port) = 0;
    /// Returns the counters by lane; all zero if the source does not tell lanes apart.
    virtual counters::LaneCounts read_lanes(std::uint32_t /*node*/, std::uint8_t /*port*/) {
        return {};
    }
    /// Returns the counters of a switch's aggregation node (SHARP), which the code that moves its
    /// data keeps.
    virtual wire::SharpPerformanceCounters read_aggregation(std::uint32_t /*node*/) { return {}; }
};

/// The performance agents of all nodes.
class PerfAgent {
  public:
    /// Returns the answer of a node to a MAD; std::nullopt if it is no Get or Set of this class.
    std::optional<wire::MadBytes> answer(const Node& node, std::uint32_t id,
                                         const wire::MadBytes& request, CounterSource& counters);

  private:
    struct Request;
    struct Sampling {
        wire::PortSamplesControl control;
        counters::PortCounts start;
        std::uint64_t turn = 0;  ///< Number of the Set that began it; 0: no Set has.
    };
    /// The values to subtract from each field that shows a counter. The index of a field is that of
    /// its counter in kPortCounters, times kFieldsPerCounter, plus its own among the counter's
    /// fields.
    using Bases =
        std::array<std::uint64_t, counters::kPortCounters.size() * counters::kFieldsPerCounter>;

    /// Answers an attribute whose fields are counters of kPortCounters.
    template <wire::Attribute T, wire::PmAttribute kAttribute>
    std::uint16_t port_counters(const Request& r);
    /// Answers a Get or Set of any attribute, and returns a MAD status.
    std::uint16_t answer_attribute(const Request& r, wire::PmAttribute attribute);
    std::uint16_t samples_control(const Request& r);
    std::uint16_t samples_result(const Request& r);
    // pma_lanes.cc
    template <typename T, typename Element, std::size_t N>
    std::uint16_t by_lane(const Request& r, std::array<Element, N> T::* field,
                          counters::PerLane kind);
    /// Answers an attribute with a counter per lane or service level. Returns the MAD status;
    /// std::nullopt if the attribute is no such one.
    std::optional<std::uint16_t> lane_counters(const Request& r, wire::PmAttribute attribute);

    // Values by node and port: see key_of().
    std::unordered_map<std::uint64_t, Bases> bases_;
    std::unordered_map<std::uint64_t, counters::LaneCounts> lane_bases_;
    std::map<std::uint64_t, Sampling> samplings_;
    std::uint64_t samplings_begun_ = 0;
};

}  // namespace softib::agent
