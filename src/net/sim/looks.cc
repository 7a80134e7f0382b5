// SPDX-License-Identifier: BSD-2-Clause
#include "net/sim/looks.h"

#include <algorithm>
#include <utility>

namespace softib::net {

/// Adds the time since the last look to each port at which packets wait now: what waits now is
/// taken to have waited since then.
void Looks::look(const Engine& engine) {
    constexpr std::uint32_t kLooksMax = 512;
    constexpr TimePs kLongest = 100'000'000'000;
    const TimePs now = engine.now();
    const TimePs since = now - std::exchange(looked_at_, now);
    for (std::uint32_t port = 0; port < engine.plant().port_count(); ++port) {
        if (!engine.plant().has_waiting(port)) {
            continue;
        }
        (engine.plant().lacks_credits(port, now) ? blocked_ps_ : full_ps_)[port] += since;
    }
    if (++looks_ % kLooksMax == 0 && every_ < kLongest) {
        every_ *= 2;
    }
}

void Looks::look_if_worth(const Engine& engine, std::uint64_t hops, std::uint64_t ports) {
    constexpr TimePs kRarest = 1'000'000'000;
    if (hops - hops_then_ >= ports) {
        look(engine);
        hops_then_ = hops;
        after_ = every_;
    } else {
        after_ = std::min(2 * after_, std::max(kRarest, every_));
    }
    next_ = engine.now() + after_;
}

LinkLoad load_of(const Engine& engine, std::uint32_t port, const Looks& looks) {
    const Plant::Traffic sent = engine.plant().traffic(port, engine.now());
    const TimePs block_ps = engine.plant().transmit_time(port, link::kBlockBytes);
    return {.bytes = sent.bytes,
            .packets = sent.packets,
            .busy_ps = block_ps * sent.bytes / link::kBlockBytes,
            .wait_ps = sent.wait_ps,
            .full_ps = looks.full_ps(port),
            .blocked_ps = looks.blocked_ps(port),
            .gbps = 8.0 * link::kBlockBytes * 1000 / static_cast<double>(block_ps)};
}

ModelStats stats_of(const Engine& engine, const MessageHosts& hosts) {
    const EngineStats& moved = engine.stats();
    const MessageHosts::Stats& told = hosts.stats();
    ModelStats stats{.events = moved.events,
                     .hops = moved.hops,
                     .delivered = moved.delivered,
                     .discarded = moved.discarded,
                     .lost = moved.lost,
                     .routed = moved.routed,
                     .context_misses = told.context_misses,
                     .log_hash = moved.log_hash,
                     .notifications = told.becns,
                     .resent = told.resent,
                     .timeouts = told.timeouts};
    for (std::uint32_t port = 0; port < engine.plant().port_count(); ++port) {
        const Odd odd = engine.plant().odd_counts(port);
        stats.marked += odd.marked;
        stats.pauses += odd.pauses;
    }
    return stats;
}

}  // namespace softib::net
