// SPDX-License-Identifier: BSD-2-Clause
// Handles events of switches by windows (window_queue.h): each switch handles its events of a
// window in one go. Its neighbours may be a window behind or ahead of it. Two neighbours share only
// the lanes of the cables between them, where credits that are returned show a cable's delay later
// at the earliest, and wakes, which come as much later. So the result does not depend on which of
// them is handled first.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "net/engine/engine.h"
#include "net/plant/fetch.h"

namespace softib::net {

void Engine::use_windows(TimePs window_min) {
    SOFTIB_CHECK(queue_.empty() && windows_.empty() && ethernet_ == nullptr);
    TimePs shortest = kNever;
    std::vector<std::vector<std::uint32_t>> links;
    std::vector<std::uint32_t> bin_of(node_count(), WindowQueue::kNoBin);
    for (std::uint32_t node = 0; node < node_count(); ++node) {
        if (is_switch(node)) {
            bin_of[node] = static_cast<std::uint32_t>(links.size());
            outputs_.push_back({port_of(node, 0), ports_of(node)});
            links.emplace_back();
        }
    }
    for (std::uint32_t port = 0; port < port_count(); ++port) {
        if (!connected(port)) {
            continue;
        }
        if (peer(port) != port) {
            shortest = std::min(shortest, cable(port));
        }
        for (const std::uint32_t link : {port, peer(port)}) {
            if (const std::uint32_t bin = bin_of[node_of(port)]; bin != WindowQueue::kNoBin) {
                links[bin].push_back(link);
            }
        }
    }
    if (links.empty() || shortest < window_min || shortest == kNever) {
        return;
    }
    at_receiver_.assign(port_count(), {.bin = WindowQueue::kNoBin, .rank = 0});
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
            if (bin_of[node_of(link)] == bin) {
                at_sender_[link] = spot;
            }
            if (bin_of[node_of(peer(link))] == bin) {
                at_receiver_[link] = spot;
            }
            switch_links_.push_back(link);
        }
    }
    first_rank_.push_back(static_cast<std::uint32_t>(switch_links_.size()));
    windows_.start(static_cast<std::uint32_t>(links.size()), WindowQueue::length(shortest));
    queue_ = EventQueue(bucket_width(node_count() - static_cast<std::uint32_t>(links.size())));
}

TimePs Engine::begin_window(TimePs at, TimePs until) {
    windows_.advance(at);
    return std::min(until, windows_.base() + windows_.window() - 1);
}

void Engine::fetch_next(std::uint32_t bin) const {
    if (const std::uint32_t next = windows_.next_bin(bin + 1); next != WindowQueue::kNoBin) {
        fetch_waiting(next);
        if (const std::uint32_t second = windows_.next_bin(next + 1);
            second != WindowQueue::kNoBin) {
            fetch_switch(second);
            if (const std::uint32_t third = windows_.next_bin(second + 1);
                third != WindowQueue::kNoBin) {
                windows_.fetch_events(third);
            }
        }
    }
}

/// Prefetches the ports of a switch and the packets that come to it.
void Engine::fetch_switch(std::uint32_t bin) const {
    for (std::uint32_t i = first_rank_[bin]; i < first_rank_[bin + 1]; ++i) {
        const std::uint32_t link = switch_links_[i];
        const void* ends[] = {&rx_[link], &tx_[link]};
        fetch(ends[at_sender_[link].bin == bin ? 1 : 0]);
        for (std::uint8_t vl = 0; vl < config_.data_vls; ++vl) {
            fetch(&lane(link, vl));
        }
    }
    windows_.for_each(bin, [&](WindowQueue::Item item) {
        fetch(place_of(packets_.data(), WindowQueue::about(item)));
    });
}

/// Prefetches, once fetch_switch() has done so, forwarding table entries of the packets that come,
/// and the first packets that wait at each port.
void Engine::fetch_waiting(std::uint32_t bin) const {
    const std::uint8_t* const lft = lfts_.data() + std::size_t{bin} * lft_stride_;
    windows_.for_each(bin, [&](WindowQueue::Item item) {
        if (WindowQueue::kind(item) == EventKind::kArrival) {
            fetch(lft + packets_[WindowQueue::about(item)].dlid);
        }
    });
    for (std::uint32_t i = first_rank_[bin]; i < first_rank_[bin + 1]; ++i) {
        const std::uint32_t port = switch_links_[i];
        if (at_sender_[port].bin != bin || tx_[port].waiting == 0) {
            continue;
        }
        const std::uint32_t at = static_cast<std::uint32_t>(&first_waiting(port) - lanes_.data());
        fetch(place_of(packets_.data(), lanes_[at].head));
        fetch(turns_at_.data() + at * turns_stride_);
        const std::uint32_t* const end = round_ends_.data() + std::size_t{at} * kRoundsOpen +
                                         lanes_[at].tail_round / kRound % kRoundsOpen;
        fetch(end);
    }
}

bool Engine::run_switch(std::uint32_t bin, TimePs end) {
    const std::uint32_t* const links = switch_links_.data() + first_rank_[bin];
    const TimePs base = windows_.base();
    WindowQueue::Item item = 0;
    while (windows_.take(end, item)) {
        queue_.set_now(base + WindowQueue::time(item));
        const std::uint32_t link = links[WindowQueue::rank(item)];
        const std::uint32_t about = WindowQueue::about(item);
        handle({std::uint64_t{link} << 3 | static_cast<std::uint64_t>(WindowQueue::kind(item)),
                about, about});
        if (taken_) [[unlikely]] {
            return true;
        }
    }
    return false;
}

void Engine::end_window(TimePs end) {
    reached_ = std::max(reached_, end);
    queue_.set_now(end);
    const std::vector<Late> late = std::exchange(late_, {});
    for (const Late& credits : late) {
        deferred(credits.link, credits.vl) -= credits.blocks;
        release(credits.link, credits.vl, credits.blocks, credits.at);
    }
    SOFTIB_CHECK(late_.empty());
}

}  // namespace softib::net
