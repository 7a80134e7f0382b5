// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/mad/mad_source.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "telemetry/clocks.h"
#include "telemetry/mad/discovery.h"
#include "telemetry/mad/perf_client.h"

namespace softib::telemetry {

namespace {

constexpr std::uint64_t kDiscoverEveryNs = 5'000'000'000;
constexpr std::uint32_t kDetailsEvery = 10;
constexpr sm::SmpClient::Limits kSmpLimits{.window = 64, .timeout_ns = 300'000'000, .retries = 2};

mad::Packet directed(const wire::MadBytes& mad) {
    mad::Packet packet;
    packet.mad = mad;
    packet.dlid = kLidPermissive;
    return packet;
}

// These functions make Discovery and PerfClient look alike to drive().
mad::Packet to_packet(const wire::MadBytes& mad) {
    return directed(mad);
}
mad::Packet to_packet(const mad::Packet& packet) {
    return packet;
}
void give(Discovery& client, const mad::Packet& packet) {
    client.handle(packet.mad);
}
void give(PerfClient& client, const mad::Packet& packet) {
    client.handle(packet);
}

}  // namespace

std::string MadSource::name() const {
    return port_ ? port_->name() : device_.empty() ? "the first HCA" : device_;
}

std::expected<void, std::string> MadSource::open() {
    if (port_) {
        return {};
    }
    auto port = std::make_unique<umad::Port>();
    if (auto opened = port->open(device_, number_); !opened) {
        return opened;
    }
    if (!port->add_agents({{.mgmt_class = 0x81}, {.mgmt_class = 0x04}})) {
        return std::unexpected(
            fmt::format("{} takes no more programs that send MADs", port->name()));
    }
    port_ = std::move(port);
    return {};
}

template <typename Client>
bool MadSource::drive(Client& client) {
    while (!client.done()) {
        while (const auto next = client.poll_transmit(monotonic_ns())) {
            port_->send(to_packet(*next));
        }
        const std::uint64_t now = monotonic_ns();
        const std::uint64_t due = client.next_timeout_ns();
        const auto wait_ms =
            due <= now
                ? 0
                : static_cast<int>(std::min<std::uint64_t>((due - now) / 1'000'000 + 1, 1000));
        pollfd waiting{.fd = port_->fd(), .events = POLLIN, .revents = 0};
        poll(&waiting, 1, wait_ms);
        if ((waiting.revents & (POLLERR | POLLHUP)) != 0) {
            return false;
        }
        for (bool any = true; any;) {
            if (const auto packet = port_->receive(any)) {
                give(client, *packet);
            }
        }
        if (client.next_timeout_ns() <= monotonic_ns()) {
            client.handle_timeout(monotonic_ns());
        }
    }
    return true;
}

std::expected<void, std::string> MadSource::discover() {
    Discovery discovery(kSmpLimits);
    if (!drive(discovery)) {
        port_ = nullptr;
        return std::unexpected(fmt::format("{} is gone", device_));
    }
    Inventory found = discovery.inventory();
    if (found.ports.empty()) {
        return std::unexpected(fmt::format("{} has no cable, or nobody answers behind it", name()));
    }
    found.fabric = name();
    const bool same =
        inventory_ && inventory_->nodes == found.nodes && inventory_->ports == found.ports;
    if (!same) {
        found.revision = inventory_ ? inventory_->revision + 1 : 1;
        inventory_ = std::make_shared<const Inventory>(std::move(found));
        last_.clear();
    }
    states_ = discovery.states();
    silent_ = discovery.silent();
    next_discovery_ns_ = monotonic_ns() + kDiscoverEveryNs;
    return {};
}

std::expected<Reading, std::string> MadSource::read() {
    if (auto opened = open(); !opened) {
        return std::unexpected(opened.error());
    }
    if (!inventory_ || monotonic_ns() >= next_discovery_ns_) {
        if (auto found = discover(); !found) {
            return std::unexpected(found.error());
        }
    }
    PerfClient client(*inventory_, {}, readings_++ % kDetailsEvery == 0);
    if (!drive(client)) {
        port_ = nullptr;
        return std::unexpected(fmt::format("{} is gone", device_));
    }
    last_.resize(inventory_->ports.size());
    client.update(last_);
    Reading reading{.inventory = inventory_, .sample = {}, .notices = {}};
    Sample& sample = reading.sample;
    sample.states = states_;
    sample.fresh = client.answered();
    sample.silent = silent_;
    for (std::uint32_t i = 0; i < last_.size(); ++i) {
        if (sample.fresh[i] == 0) {
            const std::string& node = inventory_->node_of(i).name;
            if (std::ranges::find(sample.silent, node) == sample.silent.end()) {
                sample.silent.push_back(node);
            }
            next_discovery_ns_ = 0;  // The fabric may have changed.
        }
    }
    sample.counts = last_;
    sample.time_ns = monotonic_ns();
    sample.wall_us = wall_us();
    return reading;
}

}  // namespace softib::telemetry
