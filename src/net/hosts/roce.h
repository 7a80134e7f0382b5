// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The state of message hosts that speak RoCEv2 (message_roce.cc): packets have PSNs, a receiver
// may answer marks with notifications (CNPs), and what is lost is sent again by go-back-N or by
// selective repeat.

#include <cstdint>
#include <vector>

#include "core/link/congestion_algorithms.h"
#include "net/hosts/message_config.h"
#include "net/hosts/psn_ranges.h"
#include "net/plant/packet.h"

namespace softib::net {

/// Bytes of a packet's headers on the wire, with preamble and gap between frames: Ethernet 38, IPv4
/// 20, UDP 8, BTH 12, ICRC 4.
inline constexpr std::uint16_t kRoceHeaderBytes = 82;
inline constexpr std::uint16_t kRoceAckBytes = kRoceHeaderBytes + 4;            ///< With AETH.
inline constexpr std::uint16_t kRoceNotificationBytes = kRoceHeaderBytes + 16;  ///< A CNP.

class RoceState {
  public:
    enum class Kind : std::uint8_t {
        kData,
        kProbe,  ///< Data sent again after a timeout, which the receiver answers at once.
        kAck,    ///< All packets before `psn` have come.
        /// Asks for all packets from `psn` on; with selective repeat for `count` of them.
        kNak,
        /// With selective repeat, the answer to a probe: says which packets have come.
        kStatus,
        kNotification,  ///< A CNP.
    };
    /// The fields of a packet that the engine's Packet does not have.
    struct Body {
        std::uint32_t message = 0;
        std::uint32_t psn = 0;
        std::uint32_t count = 0;
        /// When a packet with data began to leave; in an ACK, when that did which it answers.
        TimePs sent_at = kNever;
        Kind kind = Kind::kData;
        bool marked = false;  ///< In an ACK: the packet that it answers was marked.
    };
    /// How far a message is. The PSNs of each message begin at 0.
    struct Progress {
        // The sender's.
        std::uint32_t acked = 0;   ///< All packets before it are acknowledged.
        std::uint32_t next = 0;    ///< PSN of the next packet to send that is not in `resend`.
        std::uint32_t high = 0;    ///< One more than the highest PSN ever sent.
        std::uint32_t rounds = 0;  ///< Timeouts in a row without progress.
        PsnRanges resend = {};     ///< With selective repeat: PSNs to send again.
        TimePs moved_at = 0;       ///< When something was last sent or acknowledged.
        // The receiver's.
        std::uint32_t expected = 0;  ///< The first PSN that has not come.
        /// With selective repeat: the receiver has asked for all that is missing below this PSN.
        std::uint32_t named = 0;
        PsnRanges came = {};  ///< With selective repeat: PSNs above `expected` that have come.
        /// With go-back-N: the receiver has asked for `expected`, which has not come yet.
        bool asked = false;
        bool waits = false;   ///< A timer is set that looks for progress.
        bool probes = false;  ///< The next packet is sent as a probe.
    };
    explicit RoceState(const RoceConfig& config) : config_(config) {}

    const RoceConfig& config() const { return config_; }
    Progress& progress(std::uint32_t message) { return progress_[message]; }
    /// Makes room for the progress of a message. Numbers of messages are used again after end().
    void begin(std::uint32_t message) {
        if (message >= progress_.size()) {
            progress_.resize(message + 1);
        }
    }
    void end(std::uint32_t message) { progress_[message] = {}; }

    std::uint32_t make_body(const Body& body) {
        if (free_bodies_.empty()) {
            bodies_.push_back(body);
            return static_cast<std::uint32_t>(bodies_.size() - 1);
        }
        const std::uint32_t place = free_bodies_.back();
        free_bodies_.pop_back();
        bodies_[place] = body;
        return place;
    }
    Body& body(const Packet& packet) { return bodies_[packet.body]; }
    /// Returns the body of a packet and frees its place.
    Body take_body(const Packet& packet) {
        free_bodies_.push_back(packet.body);
        return bodies_[packet.body];
    }

    std::size_t bytes() const {
        return progress_.capacity() * sizeof(Progress) + bodies_.capacity() * sizeof(Body);
    }

  private:
    RoceConfig config_;
    std::vector<Progress> progress_;  ///< By message.
    std::vector<Body> bodies_;
    std::vector<std::uint32_t> free_bodies_;
};

}  // namespace softib::net
