// SPDX-License-Identifier: BSD-2-Clause
#include "core/link/congestion_algorithms.h"

#include <algorithm>

#include "core/link/cca.h"

namespace softib::link {

namespace {

using Kind = CongestionParameter::Kind;
using Rules = CongestionRules;

constexpr CongestionParameter kDcqcnParameters[] = {
    {"dcqcn_cnp_interval", "between two notifications for a connection", "50us", Kind::kTime,
     [](Rules& r) -> std::uint64_t& { return r.dcqcn.notification_gap_ps; }},
    {"dcqcn_g", "how much a notification moves alpha", "0.4%", Kind::kPart,
     [](Rules& r) -> double& { return r.dcqcn.gain; }},
    {"dcqcn_alpha_timer", "alpha decays once in this time", "55us", Kind::kTime,
     [](Rules& r) -> std::uint64_t& { return r.dcqcn.alpha_period_ps; }},
    {"dcqcn_timer", "a rate grows once in this time", "55us", Kind::kTime,
     [](Rules& r) -> std::uint64_t& { return r.dcqcn.increase_period_ps; }},
    {"dcqcn_bytes", "and once in so many bytes", "10MB", Kind::kSize,
     [](Rules& r) -> std::uint64_t& { return r.dcqcn.increase_bytes; }},
    {"dcqcn_ai", "additive increase, of the link", "0.1%", Kind::kPart,
     [](Rules& r) -> double& { return r.dcqcn.additive; }},
    {"dcqcn_hai", "hyper increase, of the link", "1%", Kind::kPart,
     [](Rules& r) -> double& { return r.dcqcn.hyper; }},
    {"dcqcn_min_rate", "no connection goes slower, of the link", "0.1%", Kind::kPart,
     [](Rules& r) -> double& { return r.dcqcn.least; }},
};

constexpr CongestionParameter kSwiftParameters[] = {
    {"swift_target", "queueing allowed beyond the round trip of the empty path", "2us", Kind::kTime,
     [](Rules& r) -> std::uint64_t& { return r.swift.queueing_ps; }},
    {"swift_fs_range", "what flow scaling adds to it at most, for small windows", "2us",
     Kind::kTime, [](Rules& r) -> std::uint64_t& { return r.swift.scaling_ps; }},
    {"swift_ai", "additive increase, packets in a round trip", "1", Kind::kNumber,
     [](Rules& r) -> double& { return r.swift.additive; }},
    {"swift_beta", "part of the excess delay by which a window shrinks", "80%", Kind::kPart,
     [](Rules& r) -> double& { return r.swift.decrease; }},
    {"swift_max_mdf", "part by which a window shrinks at once at most", "50%", Kind::kPart,
     [](Rules& r) -> double& { return r.swift.most_decrease; }},
    {"swift_min_cwnd", "the least window, of a packet", "0.1%", Kind::kPart,
     [](Rules& r) -> double& { return r.swift.least; }},
};

constexpr CongestionAlgorithm kAlgorithms[] = {
    {.name = "cca",
     .title = "congestion control",
     .infiniband = true,
     .make = [](const Rules&, const FlowFacts& facts) -> std::unique_ptr<Controller> {
         return std::make_unique<CcaController>(facts);
     }},
    {.name = "dcqcn",
     .title = "DCQCN",
     .notification_gap = [](const Rules& rules) { return rules.dcqcn.notification_gap_ps; },
     .make = [](const Rules& rules, const FlowFacts& facts) -> std::unique_ptr<Controller> {
         return std::make_unique<DcqcnController>(rules.dcqcn, facts);
     },
     .parameters = kDcqcnParameters},
    {.name = "swift",
     .title = "Swift",
     .from_first_packet = true,
     .ack_every = 1,
     .make = [](const Rules& rules, const FlowFacts& facts) -> std::unique_ptr<Controller> {
         return std::make_unique<SwiftController>(rules.swift, facts);
     },
     .parameters = kSwiftParameters},
};

}  // namespace

std::span<const CongestionAlgorithm> congestion_algorithms() {
    return kAlgorithms;
}

const CongestionAlgorithm* find_congestion_algorithm(std::string_view name) {
    const auto* const found = std::ranges::find(kAlgorithms, name, &CongestionAlgorithm::name);
    return found == std::end(kAlgorithms) ? nullptr : found;
}

}  // namespace softib::link
