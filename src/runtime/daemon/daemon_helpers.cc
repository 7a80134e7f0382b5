// SPDX-License-Identifier: BSD-2-Clause
// The daemon's helper processes: what their end means for the fabric, and reports of their states.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>

#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/packet_queue.h"
#include "runtime/shm/reclaim.h"
#include "runtime/shm/shm_lock.h"

namespace softib::daemon {

std::expected<void, std::string> Daemon::supervise(HelperPlan plan) {
    const bool first = helpers_.fd() < 0;
    auto added = helpers_.add(std::move(plan), shm::monotonic_ns());
    if (added && first && !watch(helpers_.fd(), kTagHelpers)) {
        return std::unexpected(fmt::format("cannot watch helpers: {}", std::strerror(errno)));
    }
    return added;
}

/// The HCAs of all programs are gone with the carrier: their ports are down until the next carrier
/// sends request::Carrying. Programs themselves end the requests that they have posted
/// (Qp::stop_with_carrier).
void Daemon::carrier_ended() {
    be_ready();  // A program that waits can ask for the reason by request::Health.
    if (arena_.header->carrier.exchange(0) == 0 && !management_->adapters_run()) {
        return;
    }
    for (std::uint32_t i = 0; i < arena_.header->hcas; ++i) {
        events_.signal_port(i, {0, static_cast<std::uint32_t>(hca::AsyncKind::kDeviceFatal), 0});
    }
    management_.change().set_adapters_run(false);
    sharp_.change().fail_all("the carrier of its packets has ended", shm::monotonic_ns());
    alert_all(arena_);
}

bool Daemon::carrier_answers() const {
    return ask_for_counts(arena_);
}

int Daemon::handle(Connection& connection, const shm::request::Carrying& /*request*/) {
    if (connection.owner == 0 ||
        arena_.header->carrier.load() != lock_word(arena_, connection.owner)) {
        return EPERM;
    }
    management_.change().set_adapters_run(true);
    wake_carrier(arena_);
    be_ready();
    return 0;
}

void Daemon::when_ready(std::function<void()> tell) {
    tell_ready_ = std::move(tell);
    if (!is_packet_path(arena_)) {
        be_ready();
    }
}

void Daemon::be_ready() {
    if (const auto tell = std::exchange(tell_ready_, {})) {
        tell();
    }
}

int Daemon::handle(Connection& /*connection*/, const shm::request::Health& /*request*/,
                   Answer<shm::request::Health>& answer) {
    shm::request::Health::Reply reply;
    helpers_.ask(shm::monotonic_ns());
    for (const Supervisor::Health& health : helpers_.health()) {
        if (reply.count == shm::request::kHelpersMax) {
            break;
        }
        reply.helpers[reply.count++] = {.name = health.name,
                                        .state = health.state,
                                        .pid = health.pid,
                                        .restarts = health.restarts,
                                        .last_end = health.last_end,
                                        .reason = health.reason};
    }
    return answer(reply);
}

}  // namespace softib::daemon
