// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A member's end of a tree: cuts what it has to do into fragments, sends one packet of each to the
// aggregation node above it, and puts what comes down in its place. It keeps as many fragments
// under way as the node has room for; a fragment is over when its packet has come down.
//
// Its caller moves the packets, over a transport that is reliable (RC), and owns the memory.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/sharp/error.h"
#include "core/sharp/types.h"

namespace softib::sharp {

/// What the nodes of a tree take of one member at a time.
struct FragmentRule {
    std::uint32_t datagram_bytes = 1024;  ///< Payload of a datagram (LLT),
    std::uint32_t stream_bytes = 4064;    ///< and of a packet that streams (SAT).
    std::uint32_t datagrams = 8;          ///< Fragments under way,
    std::uint32_t streams = 64;           ///< and those of an operation that streams.

    /// Whole elements.
    constexpr std::uint32_t payload_bytes(const Reduction& reduction, bool streaming) const {
        const auto element = static_cast<std::uint32_t>(reduction.element_bytes());
        const std::uint32_t most = streaming ? stream_bytes : datagram_bytes;
        return most < element ? element : most / element * element;
    }
};

class TreeMember {
  public:
    TreeMember(std::uint16_t tree, std::uint32_t group, const FragmentRule& rule)
        : tree_(tree), group_(group), rule_(rule) {}

    /// A part of the vector.
    struct Part {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };
    struct Task {
        std::uint32_t sequence = 0;  ///< The same at all members, and of no other task.
        std::uint32_t bytes = 0;     ///< Of the vector.
        bool streaming = false;
        Reduction reduction{};
        Part give{};                  ///< What this member contributes; the rest counts as zeros.
        Part take{};                  ///< What it wants of the result.
        std::byte* vector = nullptr;  ///< For both, until the task is done.
    };
    void begin(const Task& task) { tasks_.push_back({.task = task}); }

    /// Returns the next packet for the node above; std::nullopt: there is none now.
    std::optional<std::vector<std::uint8_t>> poll_transmit();
    /// Returns false if a packet from there is none that this member waits for.
    bool handle_packet(std::span<const std::uint8_t> bytes);
    /// Returns the sequence of a task that is done. Tasks end in the order in which they began.
    std::optional<std::uint32_t> poll_done();
    /// Other than kNone: a node has refused a fragment, and no task will be done any more.
    Error error() const { return error_; }

  private:
    struct Running {
        Task task;
        std::uint32_t next = 0;  ///< Where the next fragment begins.
        bool all_sent = false;
        std::uint32_t under_way = 0;
    };

    std::uint16_t tree_;
    std::uint32_t group_;
    FragmentRule rule_;
    std::deque<Running> tasks_;
    std::set<std::pair<std::uint32_t, std::uint64_t>> under_way_;  ///< Sequence and offset.
    Error error_ = Error::kNone;
};

}  // namespace softib::sharp
