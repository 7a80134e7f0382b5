// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads the counters of all ports from their performance agents (PMA), a window of requests at a
// time. It never resets a counter. The caller sends and receives the MADs and provides the time.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/mad/packet.h"
#include "telemetry/source.h"

namespace softib::telemetry {

class PerfClient {
  public:
    struct Limits {
        std::uint32_t window = 128;
        std::uint64_t timeout_ns = 500'000'000;
        std::uint8_t retries = 1;
    };
    /// Begins one reading. `details`: whether to read errors by cause and congestion too.
    PerfClient(const Inventory& inventory, const Limits& limits, bool details);

    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);
    void handle(const mad::Packet& packet);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;
    bool done() const { return queue_.empty() && under_way_ == 0; }

    const std::vector<PortCounts>& counts() const { return counts_; }
    /// Sets the counters that were read in `counts`, which has those of earlier readings by port of
    /// the inventory. A counter that was not read keeps its value.
    void update(std::vector<PortCounts>& counts) const;
    /// Returns, for each port of the inventory, whether its agent answered.
    const std::vector<std::uint8_t>& answered() const { return answered_; }

  private:
    struct Question {
        std::uint32_t port = 0;
        wire::PmAttribute attribute{};
    };
    struct Slot {
        Question question;
        std::uint64_t deadline_ns = 0;
        std::uint16_t use = 0;
        std::uint8_t tries_left = 0;
        bool busy = false;
    };

    mad::Packet packet_of(std::size_t slot) const;
    void take(const Question& question, const wire::MadBytes& mad);
    bool was_read(std::uint32_t port, const counters::PortCounter<std::uint64_t>& row) const;

    const Inventory& inventory_;
    Limits limits_;
    std::deque<Question> queue_;
    std::vector<Slot> slots_;
    std::deque<std::size_t> resend_;
    std::size_t under_way_ = 0;
    std::vector<PortCounts> counts_;
    std::vector<std::uint8_t> answered_;
    /// By port: the attributes for which an answer came, even one that has no counters.
    std::vector<std::vector<wire::PmAttribute>> heard_;
};

}  // namespace softib::telemetry
