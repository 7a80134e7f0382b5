// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The algorithms of congestion control that hosts can use. A new one is a file with a rule and a
// Controller, a member of CongestionRules, and a row of the table in congestion_algorithms.cc with
// its parameters. Flags, keys of scenarios and reports come from the row.

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "core/link/congestion.h"
#include "core/link/dcqcn.h"
#include "core/link/swift.h"

namespace softib::link {

/// The parameters of all algorithms. Those of InfiniBand's are in the HCA ports (InjectionControl),
/// where a congestion manager writes them.
struct CongestionRules {
    DcqcnRule dcqcn = {};
    SwiftRule swift = {};
};

/// A parameter of an algorithm, as users name it.
struct CongestionParameter {
    enum class Kind : std::uint8_t {
        kTime,   ///< Picoseconds.
        kSize,   ///< Bytes.
        kPart,   ///< A part of the whole, above 0.
        kNumber  ///< A number above 0.
    };
    std::string_view key;  ///< "dcqcn_g".
    std::string_view help;
    std::string_view initial;  ///< The default, as a user would write it.
    Kind kind = Kind::kTime;
    std::variant<std::uint64_t& (*)(CongestionRules&), double& (*)(CongestionRules&)> field;
};

struct CongestionAlgorithm {
    std::string_view name;    ///< "dcqcn".
    std::string_view title;   ///< "DCQCN".
    bool infiniband = false;  ///< It is for InfiniBand, otherwise for Ethernet.
    /// Flows have a controller from their first packet on, which hears of ACKs and losses.
    /// Otherwise they get one with the first notification.
    bool from_first_packet = false;
    /// Packets from one ACK to the next, whatever the user says: a window may be as small as one
    /// packet. 0: as the user says.
    std::uint32_t ack_every = 0;
    /// Returns the least time between two notifications that a receiver sends to a flow. Null: a
    /// receiver sends none.
    TimePs (*notification_gap)(const CongestionRules&) = nullptr;
    /// Makes the controller of a flow. The rules must outlive it.
    std::unique_ptr<Controller> (*make)(const CongestionRules&, const FlowFacts&) = nullptr;
    std::span<const CongestionParameter> parameters = {};
};

std::span<const CongestionAlgorithm> congestion_algorithms();
/// Returns the algorithm of this name, or nullptr.
const CongestionAlgorithm* find_congestion_algorithm(std::string_view name);

}  // namespace softib::link
