// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Asks the subnet administration (SA) for the routed fabric, one question after the other:
// subscribes to the notices of links and ports, then reads the records of subnet_records.h. Any SA
// will do. Its caller moves packets, puts together what RMPP cut, and tells it the time.

#include <cstdint>
#include <deque>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "core/mad/packet.h"
#include "core/sharp/manager/subnet_records.h"
#include "core/wire/sa.h"

namespace softib::sharp {

class SubnetReader {
  public:
    struct Config {
        std::uint64_t answer_timeout_ns = 2'000'000'000;
        std::uint32_t tries = 3;  ///< Of each question.
    };

    explicit SubnetReader(const Config& config) : config_(config) {}

    /// Begins from the beginning, at the SA with this LID.
    void start(Lid sa);
    bool reading() const { return !questions_.empty(); }

    /// A whole answer of class SubnAdm; what answers no question of ours is left alone.
    void handle(std::span<const std::uint8_t> message);
    void handle_timeout(std::uint64_t now_ns);
    /// UINT64_MAX: no answer is waited for.
    std::uint64_t next_timeout_ns() const;
    std::optional<mad::Packet> poll_transmit(std::uint64_t now_ns);

    /// What came out, once; the error says who did not answer, or what does not fit together.
    using Result = std::expected<RoutedSubnet, std::string>;
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
    std::deque<wire::MadBytes> questions_;  ///< The first is the one that is asked.
    bool sent_ = false;
    std::uint64_t sent_ns_ = 0;
    std::uint32_t tries_ = 0;
    std::uint32_t transaction_ = 0;
    SubnetRecords records_;
    std::optional<Result> result_;
};

}  // namespace softib::sharp
