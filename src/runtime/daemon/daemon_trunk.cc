// SPDX-License-Identifier: BSD-2-Clause
// The daemon's part of trunks: whether the other end is there, and the MADs between both ends.
#include <algorithm>

#include "core/trunk/items.h"
#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/shm/clock.h"

namespace softib::daemon {

std::expected<void, std::string> Daemon::open_trunks() {
    for (const spec::TrunkPlan& plan : options_.trunks.plans) {
        auto socket = TrunkSocket::open(plan, options_.trunks.key, TrunkSocket::kManagement);
        if (!socket) {
            return std::unexpected(socket.error());
        }
        trunks_.push_back({.socket = std::move(*socket)});
        next_trunk_ns_ = 0;
    }
    return {};
}

void Daemon::follow_trunk(std::size_t trunk) {
    Trunk& of = trunks_[trunk];
    const trunk::Session& session = of.socket->session();
    const spec::TrunkPlan& plan = options_.trunks.plans[trunk];
    if (session.refused() >= of.refused_to_tell) {
        log_warning(
            "trunk of {}: refused {} of the datagrams from {}: they were changed on their way, or "
            "were sealed with another key; both ends need the same --trunk-key",
            plan.at_switch, session.refused(), plan.peer_ip);
        of.refused_to_tell = 2 * session.refused();
    }
    if (of.up && (!session.up() || session.sessions() != of.sessions)) {
        log_warning("trunk of {}: {} is gone", plan.at_switch, plan.peer_ip);
        of.up = false;
        management_.change().set_trunk(trunk, false, shm::monotonic_ns());
    }
    if (!of.up && session.up()) {
        log_info("trunk of {}: {} is there", plan.at_switch, plan.peer_ip);
        of.up = true;
        of.sessions = session.sessions();
        management_.change().set_trunk(trunk, true, shm::monotonic_ns());
    }
}

void Daemon::run_trunks() {
    if (trunks_.empty()) {
        return;
    }
    next_trunk_ns_ = UINT64_MAX;
    for (std::size_t i = 0; i < trunks_.size(); ++i) {
        trunks_[i].socket->receive(shm::monotonic_ns(), [&](std::span<const std::uint8_t> body) {
            follow_trunk(i);  // A peer that sends is there.
            trunk::for_each_item(body, [&](std::span<const std::uint8_t> bytes) {
                management_.change().arrive(i, bytes, shm::monotonic_ns());
            });
        });
        next_trunk_ns_ = std::min(next_trunk_ns_, trunks_[i].socket->run(shm::monotonic_ns()));
        follow_trunk(i);
    }
    settle();
    while (const auto mad = management_.unmarked().poll_trunk()) {
        TrunkSocket& socket = *trunks_[mad->trunk].socket;
        if (!socket.session().may_send()) {
            continue;  // The MAD is lost, as any datagram may be.
        }
        std::array<std::uint8_t,
                   trunk::kHeaderBytes + trunk::kItemHeaderBytes + agent::kOutboundBytes>
            datagram{};
        trunk::put_item_length(&datagram[trunk::kHeaderBytes], mad->bytes.size());
        std::ranges::copy(mad->bytes,
                          datagram.begin() + trunk::kHeaderBytes + trunk::kItemHeaderBytes);
        socket.send(datagram);
    }
}

}  // namespace softib::daemon
