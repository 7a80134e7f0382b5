// SPDX-License-Identifier: BSD-2-Clause
// Handles the events of a switch in a window output by output. Where packets leave a switch, they
// wait for the cable, for credits and for each other, and for nothing that happens at another port
// of the switch. So each output handles its own arrivals and wakes of a window in one go, in their
// order, with its records in registers and the nearest cache. A wake within the window is no event
// in a queue: it is only the time at which the output looks again.
//
// Where the ports of a switch do act on each other, run_switch() handles all events in one order:
// for switches that choose among ports, multicast, MADs, ports that were down or lose packets, and
// limits of waiting.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "net/engine/engine.h"
#include "net/plant/fetch.h"

namespace softib::net {

namespace {

constexpr std::uint32_t kNoOutput = 0;  // The switch itself.

/// Bits of tx_special that do not make ports act on each other.
constexpr auto kOwnBusiness = static_cast<std::uint8_t>(
    tx_special::kFaulty | tx_special::kMarks | tx_special::kPartial | tx_special::kCounted);

using Item = WindowQueue::Item;

/// Puts two items in order, without a branch: a processor cannot foresee how they compare.
void order(Item& a, Item& b) {
    const Item differ = (a ^ b) & (Item{0} - Item{b < a ? 1U : 0U});
    a ^= differ;
    b ^= differ;
}

/// Calls visit(i, j) for the pairs that Batcher's network of merging compares, in their order.
constexpr void for_each_pair(std::size_t count, auto visit) {
    for (std::size_t length = 1; length < count; length *= 2) {
        for (std::size_t apart = length; apart != 0; apart /= 2) {
            for (std::size_t i = apart % length; i + apart < count; i += 2 * apart) {
                for (std::size_t j = i; j < i + apart; ++j) {
                    if (j / (2 * length) == (j + apart) / (2 * length)) {
                        visit(j, j + apart);
                    }
                }
            }
        }
    }
}

template <std::size_t kCount>
consteval auto pairs_of() {
    constexpr std::size_t kPairs = [] {
        std::size_t pairs = 0;
        for_each_pair(kCount, [&](std::size_t, std::size_t) { ++pairs; });
        return pairs;
    }();
    std::array<std::array<std::size_t, 2>, kPairs> pairs{};
    std::size_t at = 0;
    for_each_pair(kCount, [&](std::size_t i, std::size_t j) { pairs[at++] = {i, j}; });
    return pairs;
}

template <std::size_t kCount>
[[gnu::noinline]] void sort_up_to(std::span<Item> items) {
    constexpr auto kPairs = pairs_of<kCount>();
    std::array<Item, kCount> padded;
    for (std::size_t i = 0; i < kCount; ++i) {
        padded[i] = i < items.size() ? items[i] : UINT64_MAX;
    }
    [&]<std::size_t... kPlaces>(std::index_sequence<kPlaces...>) {
        (order(padded[kPairs[kPlaces][0]], padded[kPairs[kPlaces][1]]), ...);
    }(std::make_index_sequence<kPairs.size()>());
    for (std::size_t i = 0; i < items.size(); ++i) {
        items[i] = padded[i];
    }
}

void sort_items(std::span<Item> items) {
    if (items.size() < 2) {
        return;
    }
    if (items.size() == 2) {
        order(items[0], items[1]);
    } else if (items.size() <= 4) {
        sort_up_to<4>(items);
    } else if (items.size() <= 8) {
        sort_up_to<8>(items);
    } else if (items.size() <= 16) {
        sort_up_to<16>(items);
    } else {
        std::ranges::sort(items);
    }
}

}  // namespace

bool Engine::run_outputs(std::uint32_t bin, TimePs end) {
    const Outputs outputs = outputs_[bin];
    const bool calm = states_.empty() && errors_.empty() && stats_.copied == 0;
    if (!calm || end != windows_.base() + windows_.window() - 1 || !collect(outputs, bin)) {
        return false;
    }
    windows_.drop(bin);
    begin_walk(outputs);
    open_until_ = end;
    stats_.events += due_.size();
    std::uint32_t begin = 0;
    for (std::uint32_t& place : std::span(output_begins_).first(outputs.count)) {
        begin += std::exchange(place, begin);
    }
    sorted_.resize(due_.size());
    const std::uint32_t* const links = switch_links_.data() + first_rank_[bin];
    Item last = 0;
    for (const Due& due : due_) {
        last = std::max(last, due.item);
        if (WindowQueue::kind(due.item) == EventKind::kArrival) {
            come_in(due.item, links[WindowQueue::rank(due.item)]);
            sorted_[output_begins_[due.output]++] = due.item;
        }
    }
    walk_on();
    open_last_ = windows_.base() + WindowQueue::time(last);
    // output_begins_ now has the ends of the outputs' arrivals: each begins where the one before
    // ends.
    begin = 0;
    for (std::uint32_t number = 0; number < outputs.count; ++number) {
        const std::uint32_t stop = std::exchange(output_begins_[number], 0);
        if (number % 4 == 3) {
            walk_on();
        }
        windows_.fetch_ends(at_receiver_[outputs.first + std::min(number + 2, outputs.count - 1)]);
        if (stop != begin || woken_[number] != 0) {
            woken_[number] = 0;
            open_output_ = outputs.first + number;
            run_output(open_output_, std::span(sorted_).subspan(begin, stop - begin));
        }
        begin = stop;
    }
    open_output_ = kNone;
    queue_.set_now(open_last_);
    return true;
}

/// Lists the events of a switch in due_ and counts the arrivals by output. Returns false, with no
/// event handled, if one of them is out of the ordinary.
bool Engine::collect(const Outputs& outputs, std::uint32_t bin) {
    const std::uint32_t* const links = switch_links_.data() + first_rank_[bin];
    due_.clear();
    bool plain = true;
    windows_.for_each(bin, [&](Item item) {
        const std::uint32_t link = links[WindowQueue::rank(item)];
        std::uint32_t output = kNoOutput;
        if (WindowQueue::kind(item) == EventKind::kArrival) {
            output = output_of(rx_[link], packets_[WindowQueue::about(item)]);
            ++output_begins_[output];
        } else if (WindowQueue::kind(item) == EventKind::kWake) {
            output = link - outputs.first;
            woken_[output] = 1;
        }
        plain &= output != kNoOutput && (tx_[outputs.first + output].special & ~kOwnBusiness) == 0;
        due_.push_back({item, output});
    });
    if (!plain) {
        output_begins_ = {};
        woken_ = {};
    }
    return plain;
}

/// Begins to prefetch the packets in the queues of a switch. An output will send them soon after
/// each other, and only each packet says where the next one is. So walk_on() goes along all queues,
/// one packet at a time. fetch_waiting() has fetched the first packets.
void Engine::begin_walk(const Outputs& outputs) {
    walkers_.clear();
    for (std::uint32_t port = outputs.first; port < outputs.first + outputs.count; ++port) {
        if (tx_[port].waiting != 0) {
            const auto at = static_cast<std::uint32_t>(&first_waiting(port) - lanes_.data());
            walkers_.push_back(packets_[lanes_[at].head].next);
            fetch(place_of(packets_.data(), walkers_.back()));
            // A packet is queued behind the last one of its round.
            fetch(place_of(packets_.data(),
                           round_ends_[std::size_t{at} * kRoundsOpen +
                                       lanes_[at].tail_round / kRound % kRoundsOpen]));
        }
    }
}

void Engine::walk_on() {
    for (std::uint32_t& walker : walkers_) {
        if (walker != kNone) {
            walker = packets_[walker].next;
            fetch(place_of(packets_.data(), walker));
        }
    }
}

/// Returns the number of the port by which a packet will leave a switch, and sets its lane there;
/// kNoOutput if it will not leave, or is out of the ordinary.
inline std::uint32_t Engine::output_of(const Rx& rx, Packet& packet) const {
    const bool adapts = ((rx.special & rx_special::kAdaptive) != 0) &
                        ((packet.flags & packet_flag::kAdaptive) != 0);
    const bool odd = ((rx.special & ~rx_special::kAdaptive) | rx.to_adapter |
                      (packet.flags & packet_flag::kSeen)) != 0;
    if (odd | adapts | (packet.in_vl == link::kVl15) | (packet.dlid >= lft_stride_)) [[unlikely]] {
        return kNoOutput;
    }
    const std::uint8_t number = lfts_[rx.lft + packet.dlid];
    if (sw::relay(number, rx.port) != sw::Relay::kOn ||
        rx.block_ps > tx_[rx.first_out + number].block_ps) [[unlikely]] {
        return kNoOutput;
    }
    const std::uint8_t vl =
        rx.sl_rows == kNone ? lane_of(packet.sl) : rows_[sl_rows_[rx.sl_rows + number]][packet.sl];
    packet.vl = vl;
    return vl < config_.data_vls ? number : kNoOutput;
}

/// Counts a packet at the port by which it comes into a switch.
inline void Engine::come_in(Item item, std::uint32_t link) {
    Rx& rx = rx_[link];
    Packet& packet = packets_[WindowQueue::about(item)];
    queue_.set_now(windows_.base() + WindowQueue::time(item));
    rx.words += packet.bytes / 4U;
    ++rx.packets;
    packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
    log(rx.name, packet);
    packet.since_units = units(now());
}

void Engine::run_output(std::uint32_t port, std::span<Item> arrivals) {
    constexpr Item kNothing = UINT64_MAX;
    sort_items(arrivals);
    Tx& tx = tx_[port];
    const TimePs base = windows_.base();
    const std::uint32_t rank = at_sender_[port].rank;
    auto next = arrivals.begin();
    for (;;) {
        const Item arrival = next != arrivals.end() ? *next : kNothing;
        const Item woken = tx.wake_at <= open_until_
                               ? WindowQueue::item_of(tx.wake_at - base, rank, EventKind::kWake, 0)
                               : kNothing;
        if (arrival < woken) {
            ++next;
            queue_.set_now(base + WindowQueue::time(arrival));
            Packet& packet = packets_[WindowQueue::about(arrival)];
            offer(port, packet.vl, WindowQueue::about(arrival), packet);
        } else if (woken != kNothing) {
            queue_.set_now(tx.wake_at);
            wake(port);
        } else {
            return;
        }
    }
}

}  // namespace softib::net
