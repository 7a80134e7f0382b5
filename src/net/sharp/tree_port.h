// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The connections of SHARP trees at one HCA: RC queue pairs as class 0x0B describes them
// (SharpQpcConfig), each message one packet. What is sent waits here until it is acknowledged.
//
// All receive requests are for the same bytes: a message is one packet, and its caller looks at it
// before the HCA handles the next.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/hca/hca.h"
#include "core/wire/sharp_qpc_config.h"

namespace softib::net {

class TreePort {
  public:
    struct Config {
        hca::CqId cq{};
        hca::Pd pd{};
        std::uint32_t lkey = 0;    ///< Of the memory that this process has.
        std::uint32_t sends = 64;  ///< That a queue pair has posted at most; others wait here.
    };
    /// The HCA outlives it.
    TreePort(hca::Hca& hca, const Config& config) : hca_(hca), config_(config) {}
    TreePort(const TreePort&) = delete;
    TreePort& operator=(const TreePort&) = delete;

    /// Connects a queue pair; its number is free. Returns false if the HCA refuses.
    bool open(const wire::SharpQpcConfig& context);
    void close(Qpn qpn);
    const wire::SharpQpcConfig* find(Qpn qpn) const;
    std::vector<Qpn> open_pairs() const;

    /// Sends a message of at most the path's MTU; false: the queue pair is not open, or has failed.
    bool send(Qpn from, std::vector<std::uint8_t> bytes);

    struct Arrived {
        Qpn at;
        std::span<const std::uint8_t> bytes;  ///< Until the HCA handles its next packet.
    };
    /// After the HCA has told of a completion. Returns a message that came.
    std::optional<Arrived> take(const hca::Completion& done);
    /// Returns whether a queue pair has given up: its peer does not answer.
    bool has_failed(Qpn qpn) const;

  private:
    static constexpr std::uint32_t kReceives = 4;

    struct Connection {
        wire::SharpQpcConfig context;
        std::deque<std::vector<std::uint8_t>> sends;  ///< Until they are acknowledged,
        std::size_t posted = 0;                       ///< of which so many are the HCA's.
        bool failed = false;
    };
    bool connect(const wire::SharpQpcConfig& context);
    bool post_receive(Qpn qpn);
    void post_sends(Qpn qpn, Connection& connection);

    hca::Hca& hca_;
    Config config_;
    std::map<Qpn, Connection> connections_;
    std::array<std::uint8_t, 4096> bytes_{};
};

}  // namespace softib::net
