// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/link_watch.h"

#include <algorithm>

#include "core/wire/mad/notice.h"

namespace softib::carrier {

namespace {

/// A link without flow control packets for this long is in error (IBA vol. 1, 7.9.4).
constexpr std::uint64_t kWatchdogNs = 400'000'000;

}  // namespace

void LinkWatch::look(const net::Engine& net, std::uint64_t now_ns) {
    seen_.resize(net.plant().port_count());
    next_ns_ = hca::kNever;
    for (std::uint32_t port = 0; port < net.plant().port_count(); ++port) {
        if (!net.plant().connected(port)) {
            continue;
        }
        Seen& seen = seen_[port];
        const net::Odd counts = net.plant().odd_counts(port);
        if (counts.link_integrity_errors != seen.integrity_errors) {
            seen.integrity_errors = counts.link_integrity_errors;
            watchers_.tell_link(port, wire::trap::kLocalLinkIntegrity);
        }
        look_for_silence(net, port, seen, now_ns);
    }
}

/// Reports the trap of a port to which no flow control packets come: a cable that loses everything
/// loses these too.
void LinkWatch::look_for_silence(const net::Engine& net, std::uint32_t port, Seen& seen,
                                 std::uint64_t now_ns) {
    if (!net.cables().loses_all(net.plant().peer(port)) || !net.cables().link_up(port)) {
        seen.deaf_since_ns = 0;
        seen.barked = false;
        return;
    }
    if (seen.deaf_since_ns == 0) {
        seen.deaf_since_ns = now_ns;
    }
    const std::uint64_t due_ns = seen.deaf_since_ns + kWatchdogNs;
    if (seen.barked) {
        return;
    }
    if (now_ns < due_ns) {
        next_ns_ = std::min(next_ns_, due_ns);
        return;
    }
    seen.barked = true;
    watchers_.tell_link(port, wire::trap::kFlowControlWatchdog);
}

}  // namespace softib::carrier
