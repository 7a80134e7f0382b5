// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/rates.h"

#include <algorithm>

namespace softib::telemetry {

namespace {

constexpr double kBytesPerWord = 4;
constexpr double kBitsPerTick = 32;  // A tick is the time of four bytes on the wire.

}  // namespace

float sent_load_of(const Port& port, const PortRate& rate) {
    const double bits = 8.0 * double{rate.xmit_bytes};
    return port.active_mbps == 0 ? 0.0F
                                 : static_cast<float>(bits / (1e6 * double(port.active_mbps)));
}

float load_of(const Port& port, const PortRate& rate) {
    return std::max(sent_load_of(port, rate), sent_load_of(port, {.xmit_bytes = rate.rcv_bytes}));
}

float wait_share(const Port& port, double ticks_per_second) {
    const double mbps = std::max(1U, port.active_mbps);
    return static_cast<float>(std::min(1.0, ticks_per_second * kBitsPerTick / (mbps * 1e6)));
}

std::vector<PortRate> rates_between(const Inventory& inventory, const Sample& before,
                                    const Sample& now) {
    std::vector<PortRate> rates(now.counts.size());
    if (before.counts.size() != now.counts.size() || now.time_ns <= before.time_ns) {
        return rates;
    }
    const double seconds = static_cast<double>(now.time_ns - before.time_ns) / 1e9;
    for (std::size_t i = 0; i < rates.size(); ++i) {
        if (now.fresh[i] == 0 || before.fresh[i] == 0) {
            continue;
        }
        const PortCounts& a = before.counts[i];
        const PortCounts& b = now.counts[i];
        const auto per_second = [&](std::uint64_t PortCounts::* counter, double each) {
            return static_cast<float>(static_cast<double>(growth(a.*counter, b.*counter)) * each /
                                      seconds);
        };
        PortRate& rate = rates[i];
        rate.xmit_bytes = per_second(&PortCounts::xmit_words, kBytesPerWord);
        rate.rcv_bytes = per_second(&PortCounts::rcv_words, kBytesPerWord);
        rate.xmit_packets = per_second(&PortCounts::xmit_packets, 1);
        rate.rcv_packets = per_second(&PortCounts::rcv_packets, 1);
        rate.wait_share = wait_share(inventory.ports[i], per_second(&PortCounts::xmit_wait, 1));
        for (const auto& row : kErrorCounters) {
            // Packets that another port has marked as broken are no fault of this one.
            if (row.value != &PortCounts::rcv_remote_physical_errors) {
                rate.errors += per_second(row.value, 1);
            }
        }
    }
    return rates;
}

}  // namespace softib::telemetry
