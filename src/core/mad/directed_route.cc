// SPDX-License-Identifier: BSD-2-Clause
#include "core/mad/directed_route.h"

#include "core/base/ids.h"
#include "core/wire/sm/smp.h"

namespace softib::mad {

namespace {

using Smp = wire::Smp<std::uint8_t>;

RouteStep forward(std::uint8_t port, std::uint8_t port_count) {
    if (port == 0 || port > port_count) {
        return {};
    }
    return {RouteStep::kForward, port};
}

RouteStep step_out(const Smp& smp, std::uint8_t in_port, bool is_switch, std::uint8_t port_count) {
    const std::uint8_t at = smp.hop_pointer();
    const std::uint8_t hops = smp.hop_count();
    if (at == 0 && hops != 0) {
        smp.set_hop_pointer(1);
        return forward(smp.initial_path()[1], port_count);
    }
    if (at < hops) {
        if (!is_switch) {
            return {};
        }
        smp.return_path()[at] = in_port;
        smp.set_hop_pointer(static_cast<std::uint8_t>(at + 1));
        return forward(smp.initial_path()[at + 1U], port_count);
    }
    if (at == hops) {
        if (hops != 0) {
            smp.return_path()[at] = in_port;
        }
        smp.set_hop_pointer(static_cast<std::uint8_t>(at + 1));
        if (smp.dr_dlid() == kLidPermissive) {
            return {RouteStep::kToAgent, 0};
        }
        return {is_switch ? RouteStep::kByLid : RouteStep::kDiscard, 0};
    }
    return {at == hops + 1 ? RouteStep::kToAgent : RouteStep::kDiscard, 0};
}

RouteStep step_back(const Smp& smp, bool is_switch, std::uint8_t port_count) {
    const std::uint8_t at = smp.hop_pointer();
    const std::uint8_t hops = smp.hop_count();
    if (at == 0) {
        return {RouteStep::kToManager, 0};
    }
    if (at > hops + 1) {
        return {};
    }
    smp.set_hop_pointer(static_cast<std::uint8_t>(at - 1));
    if (at == 1) {
        if (smp.dr_slid() == kLidPermissive) {
            return {RouteStep::kToManager, 0};
        }
        return {is_switch ? RouteStep::kByLid : RouteStep::kDiscard, 0};
    }
    // The way back may begin at any node; after that only switches forward the SMP.
    if (at != hops + 1 && !is_switch) {
        return {};
    }
    return forward(smp.return_path()[at - 1U], port_count);
}

}  // namespace

RouteStep step_directed_route(wire::MadBytes& bytes, std::uint8_t in_port, bool is_switch,
                              std::uint8_t port_count) {
    const Smp smp(bytes);
    if (smp.hop_count() > wire::kSmpHopsMax) {
        return {};
    }
    return smp.direction() ? step_back(smp, is_switch, port_count)
                           : step_out(smp, in_port, is_switch, port_count);
}

}  // namespace softib::mad
