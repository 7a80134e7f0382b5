// SPDX-License-Identifier: BSD-2-Clause
// The daemon's helper processes: what their end means for the fabric, and what is told of them.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/packet_queue.h"
#include "runtime/shm/reclaim.h"
#include "runtime/shm/shm_lock.h"

namespace softib::live {

std::expected<void, std::string> Daemon::supervise(HelperPlan plan) {
    const bool first = helpers_.fd() < 0;
    auto added = helpers_.add(std::move(plan), monotonic_ns());
    if (added && first && !watch(helpers_.fd(), kTagHelpers)) {
        return std::unexpected(fmt::format("cannot watch helpers: {}", std::strerror(errno)));
    }
    return added;
}

/// The adapters of all programs are gone: their ports are down until the next carrier says that it
/// carries. Programs end what they have posted themselves (Qp::stop_with_carrier).
void Daemon::carrier_ended() {
    if (arena_.header->carrier.exchange(0) == 0 && !management_.adapters_run()) {
        return;
    }
    for (std::uint32_t i = 0; i < arena_.header->hcas; ++i) {
        events_.signal_port(i, {0, static_cast<std::uint32_t>(AsyncKind::kDeviceFatal), 0});
    }
    management_.set_adapters_run(false);
    alert_all(arena_);
}

void Daemon::handle_carrying(const Connection& connection, Message& message) {
    if (connection.owner == 0 ||
        arena_.header->carrier.load() != lock_word(arena_, connection.owner)) {
        message.status = EPERM;
        return;
    }
    management_.set_adapters_run(true);
    wake_carrier(arena_);
    message.status = 0;
}

void Daemon::handle_health(Message& message) const {
    std::string text;
    for (const Supervisor::Health& health : helpers_.health()) {
        text += fmt::format("{}\t{}\t{}\t{}\t{}\n", health.name, health.pid, health.restarts,
                            health.last_end, health.reason);
    }
    message.status = 0;
    message.text_bytes = static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), kTextMax));
    std::memcpy(message.text, text.data(), message.text_bytes);
}

}  // namespace softib::live
