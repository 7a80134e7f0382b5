// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/schedule.h"

#include <algorithm>
#include <bit>

#include "core/base/check.h"

namespace softib::net {

unsigned Schedule::bucket_width(std::uint32_t ports) {
    const auto bits = static_cast<unsigned>(std::bit_width(ports));
    return bits <= 11 ? 12U : bits >= 17 ? 6U : 23 - bits;
}

void Schedule::use_windows(std::span<const LinkEnds> links, std::uint32_t switches,
                           std::uint32_t others, TimePs shortest) {
    SOFTIB_CHECK(pending() == 0);
    TimePs least = kNever;
    std::vector<std::vector<std::uint32_t>> links_at(switches);
    for (std::uint32_t link = 0; link < links.size(); ++link) {
        const LinkEnds& ends = links[link];
        least = std::min(least, ends.cable_ps);
        if (ends.sender != WindowQueue::kNoBin) {
            links_at[ends.sender].push_back(link);
        }
        if (ends.receiver != WindowQueue::kNoBin && ends.receiver != ends.sender) {
            links_at[ends.receiver].push_back(link);
        }
    }
    if (switches == 0 || least < shortest || least == kNever) {
        return;
    }
    at_receiver_.assign(links.size(), {.bin = WindowQueue::kNoBin, .rank = 0});
    at_sender_ = at_receiver_;
    for (std::uint32_t bin = 0; bin < switches; ++bin) {
        first_rank_.push_back(static_cast<std::uint32_t>(switch_links_.size()));
        for (std::uint32_t rank = 0; rank < links_at[bin].size(); ++rank) {
            const std::uint32_t link = links_at[bin][rank];
            SOFTIB_CHECK(rank < 1U << WindowQueue::kRankBits);
            const WindowQueue::Spot spot{.bin = bin & WindowQueue::kNoBin,
                                         .rank = rank & ((1U << WindowQueue::kRankBits) - 1)};
            if (links[link].sender == bin) {
                at_sender_[link] = spot;
            }
            if (links[link].receiver == bin) {
                at_receiver_[link] = spot;
            }
            switch_links_.push_back(link);
        }
    }
    first_rank_.push_back(static_cast<std::uint32_t>(switch_links_.size()));
    windows_.start(switches, WindowQueue::length(least));
    queue_ = EventQueue(bucket_width(others));
}

}  // namespace softib::net
