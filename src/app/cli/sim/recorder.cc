// SPDX-License-Identifier: BSD-2-Clause
#include "app/cli/sim/recorder.h"

#include <algorithm>

namespace softib::app::sim {

namespace {

constexpr std::uint64_t kPsPerNs = 1000;
constexpr double kBitsPerTick = 32;  // A tick of XmitWait is the time of four bytes.
constexpr std::uint64_t kWordBytes = 4;

}  // namespace

Recorder::Recorder(telemetry::RecordingWriter writer, telemetry::Inventory inventory,
                   net::TimePs step)
    : writer_(std::move(writer)), inventory_(std::move(inventory)), step_(step) {
    for (std::uint32_t i = 0; i < inventory_.ports.size(); ++i) {
        ports_[{inventory_.ports[i].node, inventory_.ports[i].number}] = i;
    }
    counts_.resize(inventory_.ports.size());
}

std::expected<Recorder, std::string> Recorder::create(const topo::Fabric& fabric,
                                                      const std::string& path, net::TimePs step) {
    telemetry::Inventory inventory = telemetry::from_graph(fabric);
    inventory.virtual_step_ns =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(step) / kPsPerNs);
    auto writer = telemetry::RecordingWriter::create(path, inventory);
    if (!writer) {
        return std::unexpected(writer.error());
    }
    return Recorder(*std::move(writer), std::move(inventory), step);
}

void Recorder::look(const net::Model& model, net::TimePs at) {
    // A cable that has failed is not among the links any more; its ports keep their counters.
    std::vector<PortState> states(inventory_.ports.size(), PortState::kDown);
    for (const net::LinkLoad& link : model.links()) {
        const auto sender = ports_.find(link.at);
        const auto receiver = ports_.find(link.peer);
        if (sender == ports_.end() || receiver == ports_.end()) {
            continue;
        }
        telemetry::PortCounts& sent = counts_[sender->second];
        sent.xmit_words = link.bytes / kWordBytes;
        sent.xmit_packets = link.packets;
        sent.xmit_wait = static_cast<std::uint64_t>(static_cast<double>(link.wait_ps) * link.gbps /
                                                    (1000 * kBitsPerTick));
        telemetry::PortCounts& received = counts_[receiver->second];
        received.rcv_words = sent.xmit_words;
        received.rcv_packets = sent.xmit_packets;
        states[sender->second] = PortState::kActive;
    }
    if (error_.empty()) {
        const auto written =
            writer_.add(static_cast<std::uint64_t>(at) / kPsPerNs, counts_, states);
        error_ = written ? "" : written.error();
    }
    last_ = at;
    next_ = at + step_;
}

void Recorder::finish(const net::Model& model) {
    if (model.now() / static_cast<net::TimePs>(kPsPerNs) >
        last_ / static_cast<net::TimePs>(kPsPerNs)) {
        look(model, model.now());
    }
    const auto written = writer_.finish();
    error_ = error_.empty() && !written ? written.error() : error_;
}

}  // namespace softib::app::sim
