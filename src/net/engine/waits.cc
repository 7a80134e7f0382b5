// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/waits.h"

#include <algorithm>

namespace softib::net {

namespace {

std::uint64_t limit_units(std::uint8_t code) {
    const std::uint64_t ps = sw::lifetime_ps(code);
    return ps == UINT64_MAX ? UINT64_MAX : ps >> Lane::kUnitShift;
}

}  // namespace

void Waits::set(std::uint32_t port, const sw::WaitingLimits& limits) {
    const auto known = std::find(limits_.begin(), limits_.end(), limits);
    limits_of_[port] = static_cast<std::uint16_t>(known - limits_.begin());
    if (known == limits_.end()) {
        limits_.push_back(limits);
    }
}

Waits::Deadline Waits::deadline(std::uint32_t port, const Lane& lane, std::uint32_t since_units,
                                TimePs now) const {
    const sw::WaitingLimits& limits = of(port);
    const auto now_units = static_cast<std::uint32_t>(now >> Lane::kUnitShift);
    const std::uint64_t lifetime = limit_units(limits.lifetime);
    const std::uint64_t hoq = limit_units(limits.hoq_life);
    const std::uint32_t in_switch = now_units - since_units;
    const std::uint32_t at_head = now_units - lane.head_since_units;
    const std::uint64_t left = lifetime <= in_switch ? 0 : lifetime - in_switch;
    const std::uint64_t left_head = hoq <= at_head ? 0 : hoq - at_head;
    const std::uint64_t least = std::min(left, left_head);
    return {.at = least >= UINT64_MAX >> Lane::kUnitShift >> 1 ? kNever
                                                               : now + (least << Lane::kUnitShift),
            .of_head = left_head < left};
}

TimePs Waits::deadline_of_next(std::uint32_t port, TimePs now) const {
    const sw::WaitingLimits& limits = of(port);
    const TimePs first =
        std::min(sw::lifetime_ps(limits.lifetime), sw::lifetime_ps(limits.hoq_life));
    return first == kNever ? kNever : now + first;
}

void Waits::dropped_head(std::uint32_t port, std::uint32_t lane, std::uint32_t lanes, TimePs now) {
    stalls_.resize(lanes);
    const sw::WaitingLimits& limits = of(port);
    stalls_[lane].dropped(limits.vl_stall_count, now, sw::lifetime_ps(limits.hoq_life));
}

}  // namespace softib::net
