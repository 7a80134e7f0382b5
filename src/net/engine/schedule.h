// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// When what happens in an engine: one queue of events, or with windows (window_queue.h) one for
// HCAs and another for switches.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "net/engine/event_queue.h"
#include "net/engine/window_queue.h"

namespace softib::net {

class Schedule {
  public:
    /// A link as a schedule sees it.
    struct LinkEnds {
        std::uint32_t sender = WindowQueue::kNoBin;    ///< Number of the switch that sends.
        std::uint32_t receiver = WindowQueue::kNoBin;  ///< Number of the switch at the other end.
        TimePs cable_ps = kNever;                      ///< kNever: leads from a switch to itself.
    };

    /// `width`: a bucket of the queue is 2^width ps wide.
    explicit Schedule(unsigned width) : queue_(width) {}

    TimePs now() const { return queue_.now(); }
    void set_now(TimePs at) { queue_.set_now(at); }
    /// Returns the time that all nodes have reached: with windows, this may be before now().
    TimePs reached() const { return windows_.on() ? reached_ : now(); }
    /// Returns a time before which nothing is due; kNever if nothing is pending.
    TimePs earliest() const { return std::min(queue_.earliest(), windows_.earliest()); }
    std::uint64_t pending() const { return queue_.pending() + windows_.pending(); }

    /// Schedules an event of a link: kinds up to kRelease at its receiver, others at its sender.
    void post(TimePs at, std::uint32_t link, EventKind kind, std::uint32_t packet = kNone,
              std::uint32_t extra = 0) {
        if (windows_.on()) {
            const WindowQueue::Spot spot =
                (kind <= EventKind::kRelease ? at_receiver_ : at_sender_)[link];
            if (spot.bin != WindowQueue::kNoBin) {
                windows_.push(at, spot, kind, packet != kNone ? packet : extra);
                return;
            }
        }
        queue_.push(at, link, kind, packet, extra);
    }
    EventQueue& queue() { return queue_; }
    const EventQueue& queue() const { return queue_; }

    // Windows.
    /// Uses windows from now on if all cables take at least `shortest`. Nothing may be pending.
    /// `switches` and `others`: how many nodes there are.
    void use_windows(std::span<const LinkEnds> links, std::uint32_t switches, std::uint32_t others,
                     TimePs shortest);
    WindowQueue& windows() { return windows_; }
    const WindowQueue& windows() const { return windows_; }
    /// Links of a switch, by rank.
    std::span<const std::uint32_t> links_of(std::uint32_t bin) const {
        return std::span(switch_links_)
            .subspan(first_rank_[bin], first_rank_[bin + 1] - first_rank_[bin]);
    }
    WindowQueue::Spot at_receiver(std::uint32_t link) const { return at_receiver_[link]; }
    WindowQueue::Spot at_sender(std::uint32_t link) const { return at_sender_[link]; }
    /// Prefetches what post() will touch for the receiver of a link.
    void fetch_receiver(std::uint32_t link) const {
        if (!at_receiver_.empty()) {
            fetch(&at_receiver_[link]);
        }
    }
    /// Notes that events until now() were handled.
    void note_event() { last_event_ = std::max(last_event_, now()); }
    TimePs last_event() const { return last_event_; }
    /// Notes that all nodes have come to a time.
    void reach(TimePs end) { reached_ = std::max(reached_, end); }

    /// Frees the memory that a burst of events took.
    void give_back() {
        queue_.give_back();
        windows_.give_back();
    }
    std::size_t bytes() const { return queue_.bytes() + windows_.bytes(); }

    /// Returns the width of a bucket at which those of a busy fabric hold some tens of events.
    static unsigned bucket_width(std::uint32_t ports);

  private:
    EventQueue queue_;
    WindowQueue windows_;
    TimePs reached_ = 0;
    TimePs last_event_ = 0;                       ///< With windows: time of the latest event.
    std::vector<WindowQueue::Spot> at_receiver_;  ///< By link; empty without windows.
    std::vector<WindowQueue::Spot> at_sender_;    ///< By link; empty without windows.
    std::vector<std::uint32_t> switch_links_;     ///< Links by switch, then by rank.
    /// By switch: where its links begin in switch_links_; and one more entry for their end.
    std::vector<std::uint32_t> first_rank_;
};

}  // namespace softib::net
