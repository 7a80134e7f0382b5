// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads the routed fabric from the SA (subnet administration), one question after the other. It
// subscribes to notices of links and ports, then reads the records of subnet_records.h. Any SA will
// do. The caller moves packets, reassembles RMPP messages, and passes the time in.

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "core/mad/packet.h"
#include "core/sharp/manager/subnet_records.h"
#include "core/wire/sa/sa.h"

namespace softib::sharp {

class SubnetReader {
  public:
    struct Config {
        std::uint64_t answer_timeout_ns = 2'000'000'000;
        std::uint32_t tries = 3;  ///< How often each question is sent at most.
    };

    explicit SubnetReader(const Config& config) : config_(config) {}

    /// Begins a new reading, at the SA with this LID; a reading that is under way is dropped.
    void start(Lid sa);
    bool reading() const { return !questions_.empty(); }

    /// Handles a whole message of class SubnAdm; ignores one that does not answer the question.
    void handle(std::span<const std::uint8_t> message);
    void handle_timeout(std::uint64_t now_ns);
    /// Returns when handle_timeout() must be called; UINT64_MAX if no answer is awaited.
    std::uint64_t next_timeout_ns() const;
    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);

    /// The fabric, or a text: the SA did not answer, or refused, or its records contradict each
    /// other.
    using Result = std::expected<RoutedSubnet, std::string>;
    /// Returns the result of a reading, once; std::nullopt if there is none.
    std::optional<Result> poll_result();

  private:
    template <wire::Attribute Record>
    void ask(wire::Method method, wire::SaAttribute attribute, const Record& record,
             std::uint64_t components);
    void subscribe();
    void take(wire::SaAttribute attribute, std::span<const std::uint8_t> message);
    void next();
    void fail(std::string reason);

    Config config_;
    Lid sa_{};
    std::deque<wire::MadBytes> questions_;  ///< Questions to the SA; the first one is being asked.
    bool sent_ = false;
    std::uint64_t sent_ns_ = 0;
    std::uint32_t tries_ = 0;
    std::uint32_t transaction_ = 0;
    SubnetRecords records_;
    std::optional<Result> result_;
};

}  // namespace softib::sharp
