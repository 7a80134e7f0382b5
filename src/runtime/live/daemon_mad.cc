// SPDX-License-Identifier: BSD-2-Clause
// Management datagrams of programs: each comes from a port that its connection opened, is answered
// once or not at all, and without an answer comes back when its time is over.
#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <vector>

#include "runtime/live/clock.h"
#include "runtime/live/daemon.h"
#include "runtime/live/log.h"
#include "runtime/live/naming.h"
#include "runtime/live/rpc.h"

namespace softib::live {

namespace {

constexpr std::uint32_t kMadTextBytes = sizeof(MadFrame) + wire::kMadBytes;
constexpr std::uint64_t kNsPerMs = 1'000'000;

bool has_hca(const Arena& arena, std::string_view hosts, std::uint32_t hca) {
    std::vector<DeviceEntry> devices(list_devices(arena, hosts, {}));
    list_devices(arena, hosts, devices);
    return std::ranges::any_of(devices, [hca](const DeviceEntry& d) { return d.hca == hca; });
}

void set_text(Message& message, const MadFrame& frame, const wire::MadBytes& mad) {
    message.text_bytes = kMadTextBytes;
    std::memcpy(message.text, &frame, sizeof frame);
    std::memcpy(message.text + sizeof frame, mad.data(), mad.size());
}

}  // namespace

void Daemon::handle_mad_open(Connection& connection, Message& message) {
    const std::string_view hosts(message.text, message.text_bytes);
    if (connection.owner != 0 || connection.mad_hca != UINT32_MAX) {
        message.status = EALREADY;
    } else if (message.port != 1 || !has_hca(arena_, hosts, message.index)) {
        message.status = ENODEV;
    } else {
        connection.mad_hca = message.index;
        message.status = 0;
    }
}

void Daemon::serve_mad(Connection& connection, Message& message) {
    if (connection.mad_hca == UINT32_MAX || message.text_bytes != kMadTextBytes) {
        message.status = connection.mad_hca == UINT32_MAX ? ENOTCONN : EINVAL;
        message.text_bytes = 0;
        send_mad(connection, message);
        return;
    }
    MadFrame frame;
    wire::MadBytes mad;
    std::memcpy(&frame, message.text, sizeof frame);
    std::memcpy(mad.data(), message.text + sizeof frame, mad.size());
    if (const auto answer = mads_.handle(connection.mad_hca, frame, mad)) {
        message.status = 0;
        if (Lid{frame.remote_lid} == kLidPermissive) {
            frame.remote_lid = arena_.hcas[connection.mad_hca].lid.load(std::memory_order_relaxed);
        }
        set_text(message, frame, *answer);
        send_mad(connection, message);
        return;
    }
    if (frame.timeout_ms == 0 || frame.timeout_ms == kMadForever) {
        return;
    }
    if (connection.mads_waiting == kMadsWaitingMax) {
        message.status = ENOBUFS;
        send_mad(connection, message);
        return;
    }
    message.status = ETIMEDOUT;
    const std::uint64_t wait_ms = std::uint64_t{frame.timeout_ms} * (std::uint64_t{frame.retries} + 1);
    waiting_mads_.emplace(monotonic_ns() + std::min<std::uint64_t>(wait_ms, INT_MAX) * kNsPerMs,
                          WaitingMad{connection.fd, message});
    ++connection.mads_waiting;
}

/// A datagram that its receiver has no room for is lost.
void Daemon::send_mad(const Connection& connection, const Message& message) const {
    if (!rpc_send(connection.fd, message, -1) && errno == EAGAIN) {
        log_warning("lost a MAD for pid {}: it does not take those it has", connection.pid);
    }
}

void Daemon::expire_mads() {
    if (waiting_mads_.empty()) {
        return;
    }
    const std::uint64_t now = monotonic_ns();
    while (!waiting_mads_.empty() && waiting_mads_.begin()->first <= now) {
        const WaitingMad& waiting = waiting_mads_.begin()->second;
        Connection& connection = *connections_.at(waiting.fd);
        --connection.mads_waiting;
        send_mad(connection, waiting.message);
        waiting_mads_.erase(waiting_mads_.begin());
    }
}

void Daemon::forget_mads(const Connection& connection) {
    if (connection.mads_waiting != 0) {
        std::erase_if(waiting_mads_,
                      [&](const auto& entry) { return entry.second.fd == connection.fd; });
    }
}

/// How long the daemon may sleep.
int Daemon::wait_ms() const {
    if (!dying_.empty()) {
        return 0;
    }
    if (waiting_mads_.empty()) {
        return -1;
    }
    const std::uint64_t now = monotonic_ns();
    const std::uint64_t then = waiting_mads_.begin()->first;
    return then <= now ? 0 : static_cast<int>((then - now) / kNsPerMs + 1);
}

}  // namespace softib::live
