// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A member's end of an aggregation tree. It cuts tasks into fragments, sends one packet for each
// fragment to the aggregation node above it, and writes what comes down into the member's vector.
// It keeps as many fragments under way as the node has room for; a fragment is over when its packet
// has come down.
//
// The caller moves the packets, over a reliable transport (RC), and owns the memory.

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

/// Limits of what a member sends to the node above it.
struct FragmentRule {
    std::uint32_t datagram_bytes = 1024;  ///< Most payload of a datagram (LLT).
    std::uint32_t stream_bytes = 4064;    ///< Most payload of a streaming packet (SAT).
    std::uint32_t datagrams = 8;          ///< Most fragments under way, for datagrams.
    std::uint32_t streams = 64;           ///< Most fragments under way, for streaming operations.

    /// Returns the payload of a full fragment: whole elements, at least one.
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

    /// A part of the vector: bytes from `begin` up to but not including `end`.
    struct Part {
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
    };
    struct Task {
        /// Number of the task: the same at all members, and different from that of other tasks.
        std::uint32_t sequence = 0;
        std::uint32_t bytes = 0;  ///< Size of the vector.
        bool streaming = false;
        Reduction reduction{};
        /// What this member contributes. In a fragment of which it contributes a part, the rest
        /// counts as zeros.
        Part give{};
        Part take{};                  ///< The part of the result that this member wants.
        std::byte* vector = nullptr;  ///< Source and destination; must stay until the task is done.
    };
    /// Lines up a task behind those that have begun.
    void begin(const Task& task) { tasks_.push_back({.task = task}); }

    /// Returns the next packet for the node above; std::nullopt if none can be sent now.
    std::optional<std::vector<std::uint8_t>> poll_transmit();
    /// Handles a packet from the node above. Returns false, with nothing changed, if this member
    /// does not wait for such a packet.
    bool handle_packet(std::span<const std::uint8_t> bytes);
    /// Returns the sequence of a task that is done; std::nullopt if there is none. Tasks end in the
    /// order in which they began.
    std::optional<std::uint32_t> poll_done();
    /// Returns why a node has refused a fragment; kNone if none has. After a refusal the member
    /// sends nothing more.
    Error error() const { return error_; }

  private:
    struct Running {
        Task task;
        std::uint32_t next = 0;  ///< Where the next fragment begins.
        bool all_sent = false;
        std::uint32_t under_way = 0;  ///< Fragments whose packets have not come down yet.
    };

    std::uint16_t tree_;
    std::uint32_t group_;
    FragmentRule rule_;
    std::deque<Running> tasks_;
    /// Sequence and offset of each fragment whose packet has not come down yet.
    std::set<std::pair<std::uint32_t, std::uint64_t>> under_way_;
    Error error_ = Error::kNone;
};

}  // namespace softib::sharp
