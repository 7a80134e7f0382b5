// SPDX-License-Identifier: BSD-2-Clause
// Handles events of switches by windows (window_queue.h): each switch handles its events of a
// window in one go. Its neighbours may be a window behind or ahead of it. Two neighbours share only
// the lanes of the cables between them, where credits that are returned show a cable's delay later
// at the earliest, and wakes, which come as much later. So the result does not depend on which of
// them is handled first.
//
// Most switches handle a window output by output. Where packets leave a switch, they wait for the
// cable, for credits and for each other, and for nothing that happens at another port of the
// switch. So each output handles its own arrivals and wakes of a window in one go, in their order,
// with its records in registers and the nearest cache. A wake within the window is no event in a
// queue: it is only the time at which the output looks again.
//
// Where the ports of a switch do act on each other, run_switch() handles all events in one order:
// for switches that choose among ports, multicast, MADs, ports that were down or lose packets, and
// limits of waiting.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/base/check.h"
#include "net/engine/look_ahead.h"
#include "net/engine/mover_inline.h"
#include "net/plant/fetch.h"

namespace softib::net {

namespace {

constexpr std::uint32_t kNoOutput = 0;  // The switch itself.

/// Bits of tx_special that do not make ports act on each other.
constexpr auto kOwnBusiness = tx_special::kFaulty | tx_special::kCrosses | tx_special::kMarks |
                              tx_special::kPartial | tx_special::kCounted;

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

bool Mover::run_switch(std::uint32_t bin, TimePs end) {
    WindowQueue& windows = schedule_.windows();
    if (!windows.is_open()) {
        schedule_.note_event();
        fetch_after(bin);
        if (run_outputs(bin, end)) {
            return true;
        }
        windows.open(bin);
    }
    const std::span<const std::uint32_t> links = schedule_.links_of(bin);
    const TimePs base = windows.base();
    WindowQueue::Item item = 0;
    while (windows.take(end, item)) {
        schedule_.set_now(base + WindowQueue::time(item));
        const std::uint32_t link = links[WindowQueue::rank(item)];
        const std::uint32_t about = WindowQueue::about(item);
        handle({std::uint64_t{link} << 3 | static_cast<std::uint64_t>(WindowQueue::kind(item)),
                about, about});
        if (outbox_.has_taken) [[unlikely]] {
            return false;
        }
    }
    windows.close();
    return true;
}

/// Gives back the credits that have waited for the end of the window.
void Mover::end_window(TimePs end) {
    schedule_.note_event();
    schedule_.reach(end);
    schedule_.set_now(end);
    const std::vector<Round::Late> late = std::exchange(round_.late, {});
    for (const Round::Late& credits : late) {
        plant_.deferred(credits.link, credits.vl) -= credits.blocks;
        release(credits.link, credits.vl, credits.blocks, credits.at);
    }
    SOFTIB_CHECK(round_.late.empty());
    schedule_.set_now(schedule_.last_event());
}

/// Prefetches the memory of the switches that are handled after one.
void Mover::fetch_after(std::uint32_t bin) const {
    const WindowQueue& windows = schedule_.windows();
    if (const std::uint32_t next = windows.next_bin(bin + 1); next != WindowQueue::kNoBin) {
        fetch_waiting(next);
        if (const std::uint32_t second = windows.next_bin(next + 1);
            second != WindowQueue::kNoBin) {
            fetch_switch(second);
            if (const std::uint32_t third = windows.next_bin(second + 1);
                third != WindowQueue::kNoBin) {
                windows.fetch_events(third);
            }
        }
    }
}

/// Prefetches the ports of a switch and the packets that come to it.
void Mover::fetch_switch(std::uint32_t bin) const {
    for (const std::uint32_t link : schedule_.links_of(bin)) {
        const void* ends[] = {&plant_.rx(link), &plant_.tx(link)};
        fetch(ends[schedule_.at_sender(link).bin == bin ? 1 : 0]);
        for (std::uint8_t vl = 0; vl < plant_.config().data_vls; ++vl) {
            fetch(&plant_.lane(link, vl));
        }
    }
    schedule_.windows().for_each(bin, [&](WindowQueue::Item item) {
        fetch(place_of(queues_.packets().data(), WindowQueue::about(item)));
    });
}

/// Prefetches, once fetch_switch() has done so, forwarding table entries of the packets that come,
/// and the first packets that wait at each port.
void Mover::fetch_waiting(std::uint32_t bin) const {
    const std::size_t lft = std::size_t{bin} * plant_.lid_count();
    schedule_.windows().for_each(bin, [&](WindowQueue::Item item) {
        if (WindowQueue::kind(item) == EventKind::kArrival) {
            fetch(plant_.lft_place(lft, queues_[WindowQueue::about(item)].dlid));
        }
    });
    for (const std::uint32_t port : schedule_.links_of(bin)) {
        if (schedule_.at_sender(port).bin != bin || plant_.tx(port).waiting == 0) {
            continue;
        }
        const Lane& first = first_waiting(plant_, port);
        const std::uint32_t number = plant_.index_of(first);
        fetch(place_of(queues_.packets().data(), first.head));
        fetch(queues_.turn_place(number, 0));
        fetch(&queues_.last_of_round(number, first.tail_round));
    }
}

bool Mover::run_outputs(std::uint32_t bin, TimePs end) {
    const Round::Outputs outputs = round_.outputs[bin];
    const bool calm = cables_.all_active() && cables_.no_errors() && stats_.copied == 0;
    if (!calm || end != schedule_.windows().base() + schedule_.windows().window() - 1 ||
        !collect(bin)) {
        return false;
    }
    schedule_.windows().drop(bin);
    begin_walk(outputs);
    round_.open_until = end;
    stats_.events += round_.due.size();
    std::uint32_t begin = 0;
    for (std::uint32_t& place : std::span(round_.begins).first(outputs.count)) {
        begin += std::exchange(place, begin);
    }
    round_.sorted.resize(round_.due.size());
    const std::uint32_t* const links = schedule_.links_of(bin).data();
    Item last = 0;
    for (const Round::Due& due : round_.due) {
        last = std::max(last, due.item);
        if (WindowQueue::kind(due.item) == EventKind::kArrival) {
            come_in(due.item, links[WindowQueue::rank(due.item)]);
            round_.sorted[round_.begins[due.output]++] = due.item;
        }
    }
    walk_on();
    round_.open_last = schedule_.windows().base() + WindowQueue::time(last);
    // round_.begins now has the ends of the outputs' arrivals: each begins where the one before
    // ends.
    begin = 0;
    for (std::uint32_t number = 0; number < outputs.count; ++number) {
        const std::uint32_t stop = std::exchange(round_.begins[number], 0);
        if (number % 4 == 3) {
            walk_on();
        }
        schedule_.windows().fetch_ends(
            schedule_.at_receiver(outputs.first + std::min(number + 2, outputs.count - 1)));
        if (stop != begin || round_.woken[number] != 0) {
            round_.woken[number] = 0;
            round_.open_output = outputs.first + number;
            run_output(round_.open_output, std::span(round_.sorted).subspan(begin, stop - begin));
        }
        begin = stop;
    }
    round_.open_output = kNone;
    schedule_.set_now(round_.open_last);
    return true;
}

/// Lists the events of a switch in round_.due and counts the arrivals by output. Returns false,
/// with no event handled, if one of them is out of the ordinary.
bool Mover::collect(std::uint32_t bin) {
    const Round::Outputs outputs = round_.outputs[bin];
    const std::uint32_t* const links = schedule_.links_of(bin).data();
    round_.due.clear();
    bool plain = true;
    schedule_.windows().for_each(bin, [&](Item item) {
        const std::uint32_t link = links[WindowQueue::rank(item)];
        std::uint32_t output = kNoOutput;
        if (WindowQueue::kind(item) == EventKind::kArrival) {
            output = output_of(plant_.rx(link), queues_[WindowQueue::about(item)]);
            ++round_.begins[output];
        } else if (WindowQueue::kind(item) == EventKind::kWake) {
            output = link - outputs.first;
            round_.woken[output] = 1;
        }
        plain &=
            output != kNoOutput && (plant_.tx(outputs.first + output).special & ~kOwnBusiness) == 0;
        round_.due.push_back({item, output});
    });
    if (!plain) {
        round_.begins = {};
        round_.woken = {};
    }
    return plain;
}

/// Begins to prefetch the packets in the queues of a switch. An output will send them soon after
/// each other, and only each packet says where the next one is. So walk_on() goes along all queues,
/// one packet at a time. fetch_waiting() has fetched the first packets.
void Mover::begin_walk(const Round::Outputs& outputs) {
    round_.walkers.clear();
    for (std::uint32_t port = outputs.first; port < outputs.first + outputs.count; ++port) {
        if (plant_.tx(port).waiting != 0) {
            const Lane& first = first_waiting(plant_, port);
            round_.walkers.push_back(queues_[first.head].next);
            fetch(place_of(queues_.packets().data(), round_.walkers.back()));
            // A packet is queued behind the last one of its round.
            fetch(place_of(queues_.packets().data(),
                           queues_.last_of_round(plant_.index_of(first), first.tail_round)));
        }
    }
}

void Mover::walk_on() {
    for (std::uint32_t& walker : round_.walkers) {
        if (walker != kNone) {
            walker = queues_[walker].next;
            fetch(place_of(queues_.packets().data(), walker));
        }
    }
}

/// Returns the number of the port by which a packet will leave a switch, and sets its lane there;
/// kNoOutput if it will not leave, or is out of the ordinary.
inline std::uint32_t Mover::output_of(const Rx& rx, Packet& packet) const {
    const bool adapts = ((rx.special & rx_special::kAdaptive) != 0) &
                        ((packet.flags & packet_flag::kAdaptive) != 0);
    const bool odd = ((rx.special & ~rx_special::kAdaptive) | rx.to_adapter |
                      (packet.flags & packet_flag::kSeen)) != 0;
    if (odd | adapts | (packet.in_vl == link::kVl15) | (packet.dlid >= plant_.lid_count()))
        [[unlikely]] {
        return kNoOutput;
    }
    const std::uint8_t number = plant_.lft_entry(rx, packet.dlid);
    const Hop hop = look_up(rx, packet, number);
    if (hop.why != Hop::Why::kOn || hop.slower_in) [[unlikely]] {
        return kNoOutput;
    }
    packet.vl = hop.vl;
    return number;
}

/// Counts a packet at the port by which it comes into a switch.
inline void Mover::come_in(Item item, std::uint32_t link) {
    Packet& packet = queues_[WindowQueue::about(item)];
    schedule_.set_now(schedule_.windows().base() + WindowQueue::time(item));
    count_in(plant_.rx(link), packet);
    packet.flags &= static_cast<std::uint8_t>(~packet_flag::kOnCable);
    packet.since_units = units(now());
}

void Mover::run_output(std::uint32_t port, std::span<Item> arrivals) {
    constexpr Item kNothing = UINT64_MAX;
    sort_items(arrivals);
    Tx& tx = plant_.tx(port);
    const TimePs base = schedule_.windows().base();
    const std::uint32_t rank = schedule_.at_sender(port).rank;
    auto next = arrivals.begin();
    for (;;) {
        const Item arrival = next != arrivals.end() ? *next : kNothing;
        const Item woken = tx.wake_at <= round_.open_until
                               ? WindowQueue::item_of(tx.wake_at - base, rank, EventKind::kWake, 0)
                               : kNothing;
        if (arrival < woken) {
            ++next;
            schedule_.set_now(base + WindowQueue::time(arrival));
            Packet& packet = queues_[WindowQueue::about(arrival)];
            offer(port, packet.vl, WindowQueue::about(arrival), packet);
        } else if (woken != kNothing) {
            schedule_.set_now(tx.wake_at);
            wake(port);
        } else {
            return;
        }
    }
}

}  // namespace softib::net
