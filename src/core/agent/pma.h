// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a node answers about its counters (IBA vol. 1, chapter 16). The counters themselves are
// somebody else's and only ever grow (core/counters); a Set here is remembered as what to subtract.
// The attributes that show a counter are reset apart from each other, as in hardware.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/agent/node.h"
#include "core/counters/lane_counts.h"
#include "core/counters/port_counters.h"
#include "core/wire/mad.h"
#include "core/wire/pm.h"
#include "core/wire/port_samples_control.h"
#include "core/wire/sharp_performance_counters.h"

namespace softib::agent {

class CounterSource {
  public:
    virtual ~CounterSource() = default;
    /// Called before each request: all that was counted until now is in what read() returns next.
    virtual void refresh() {}
    virtual counters::PortCounts read(std::uint32_t node, std::uint8_t port) = 0;
    /// A source that does not tell lanes apart has none.
    virtual counters::LaneCounts read_lanes(std::uint32_t /*node*/, std::uint8_t /*port*/) {
        return {};
    }
    /// What moves the data of a switch's aggregation node has counted this for it.
    virtual wire::SharpPerformanceCounters read_aggregation(std::uint32_t /*node*/) { return {}; }
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
        counters::PortCounts start;
    };
    /// What to subtract from each field that shows a counter; the place of a field is that of its
    /// counter in the list, times kFieldsPerCounter, plus its own among the counter's fields.
    using Bases =
        std::array<std::uint64_t, counters::kPortCounters.size() * counters::kFieldsPerCounter>;

    /// Answers an attribute whose fields are counters of the list.
    template <wire::Attribute T, wire::PmAttribute kAttribute>
    std::uint16_t port_counters(const Request& r);
    std::uint16_t samples_control(const Request& r);
    std::uint16_t samples_result(const Request& r);
    // pma_lanes.cc
    template <typename T, typename Element, std::size_t N>
    std::uint16_t by_lane(const Request& r, std::array<Element, N> T::* field,
                          counters::PerLane kind);
    /// Nothing: not an attribute of this kind.
    std::optional<std::uint16_t> lane_counters(const Request& r, wire::PmAttribute attribute);

    // By port of a node.
    std::unordered_map<std::uint64_t, Bases> bases_;
    std::unordered_map<std::uint64_t, counters::LaneCounts> lane_bases_;
    std::map<std::uint64_t, Sampling> samplings_;
};

}  // namespace softib::agent
