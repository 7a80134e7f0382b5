// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The connections of SHARP trees at one HCA: RC queue pairs with the attributes of class 0x0B
// (SharpQpcConfig). Each message is one packet. Messages are kept here until they are acknowledged.
//
// All receive requests share one buffer, since the caller reads a message before the HCA handles
// the next packet.

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/hca/hca.h"
#include "core/wire/sharp/sharp_qpc_config.h"

namespace softib::net {

class TreePort {
  public:
    struct Config {
        hca::CqId cq{};
        hca::Pd pd{};
        std::uint32_t lkey = 0;    ///< L_Key for the memory of this process.
        std::uint32_t sends = 64;  ///< Most sends that a queue pair has posted; others wait here.
    };
    /// `hca` must outlive the port.
    TreePort(hca::Hca& hca, const Config& config) : hca_(hca), config_(config) {}
    TreePort(const TreePort&) = delete;
    TreePort& operator=(const TreePort&) = delete;

    /// Makes and connects a queue pair with the context's QPN, which must be free. Returns false if
    /// the HCA refuses.
    bool open(const wire::SharpQpcConfig& context);
    void close(Qpn qpn);
    /// Returns the context with which a queue pair was opened; nullptr if it is not open.
    const wire::SharpQpcConfig* find(Qpn qpn) const;
    std::vector<Qpn> open_pairs() const;

    /// Sends a message of at most the path's MTU. Returns false if the queue pair is not open or
    /// has failed.
    bool send(Qpn from, std::vector<std::uint8_t> bytes);

    struct Arrived {
        Qpn at;
        std::span<const std::uint8_t> bytes;  ///< Valid until the HCA handles its next packet.
    };
    /// Handles a completion of the HCA. Returns the message if one has come.
    std::optional<Arrived> take(const hca::Completion& done);
    /// Returns whether a queue pair has given up: its peer does not answer.
    bool has_failed(Qpn qpn) const;

  private:
    static constexpr std::uint32_t kReceives = 4;

    struct Connection {
        wire::SharpQpcConfig context;
        std::deque<std::vector<std::uint8_t>> sends;  ///< Messages that are not acknowledged.
        std::size_t posted = 0;  ///< How many of `sends`, from the first on, the HCA has.
        bool failed = false;
    };
    bool connect(const wire::SharpQpcConfig& context);
    bool post_receive(Qpn qpn);
    void post_sends(Qpn qpn, Connection& connection);

    hca::Hca& hca_;
    Config config_;
    std::map<Qpn, Connection> connections_;
    std::array<std::uint8_t, 4096> bytes_{};  ///< The buffer of all receive requests.
};

}  // namespace softib::net
