// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/schedule.h"

#include <bit>

#include "core/base/check.h"
#include "net/plant/plant.h"

namespace softib::net {

unsigned Schedule::bucket_width(std::uint32_t ports) {
    const auto bits = static_cast<unsigned>(std::bit_width(ports));
    return bits <= 11 ? 12U : bits >= 17 ? 6U : 23 - bits;
}

void Schedule::use_windows(const Plant& plant, TimePs shortest) {
    SOFTIB_CHECK(pending() == 0);
    TimePs least = kNever;
    std::vector<std::vector<std::uint32_t>> links;
    std::vector<std::uint32_t> bin_of(plant.node_count(), WindowQueue::kNoBin);
    for (std::uint32_t node = 0; node < plant.node_count(); ++node) {
        if (plant.is_switch(node)) {
            bin_of[node] = static_cast<std::uint32_t>(links.size());
            links.emplace_back();
        }
    }
    for (std::uint32_t port = 0; port < plant.port_count(); ++port) {
        if (!plant.connected(port)) {
            continue;
        }
        if (plant.peer(port) != port) {
            least = std::min(least, plant.cable(port));
        }
        for (const std::uint32_t link : {port, plant.peer(port)}) {
            if (const std::uint32_t bin = bin_of[plant.node_of(port)]; bin != WindowQueue::kNoBin) {
                links[bin].push_back(link);
            }
        }
    }
    if (links.empty() || least < shortest || least == kNever) {
        return;
    }
    at_receiver_.assign(plant.port_count(), {.bin = WindowQueue::kNoBin, .rank = 0});
    at_sender_ = at_receiver_;
    for (std::uint32_t bin = 0; bin < links.size(); ++bin) {
        std::ranges::sort(links[bin]);
        const auto same = std::ranges::unique(links[bin]);
        links[bin].erase(same.begin(), same.end());
        first_rank_.push_back(static_cast<std::uint32_t>(switch_links_.size()));
        for (std::uint32_t rank = 0; rank < links[bin].size(); ++rank) {
            const std::uint32_t link = links[bin][rank];
            SOFTIB_CHECK(rank < 1U << WindowQueue::kRankBits);
            const WindowQueue::Spot spot{.bin = bin & WindowQueue::kNoBin,
                                         .rank = rank & ((1U << WindowQueue::kRankBits) - 1)};
            if (bin_of[plant.node_of(link)] == bin) {
                at_sender_[link] = spot;
            }
            if (bin_of[plant.node_of(plant.peer(link))] == bin) {
                at_receiver_[link] = spot;
            }
            switch_links_.push_back(link);
        }
    }
    first_rank_.push_back(static_cast<std::uint32_t>(switch_links_.size()));
    windows_.start(static_cast<std::uint32_t>(links.size()), WindowQueue::length(least));
    queue_ =
        EventQueue(bucket_width(plant.node_count() - static_cast<std::uint32_t>(links.size())));
}

}  // namespace softib::net
