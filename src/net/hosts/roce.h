// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The state of message hosts that speak RoCEv2 (message_roce.cc): packets have PSNs, a receiver
// answers marks with notifications (CNPs), a connection has a rate (DCQCN), and what is lost is
// sent again by go-back-N or by selective repeat.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/link/dcqcn.h"
#include "net/hosts/psn_ranges.h"
#include "net/plant/packet.h"

namespace softib::net {

struct RoceConfig {
    /// Selective repeat: only lost packets are sent again. Otherwise go-back-N: all from the first
    /// lost packet on.
    bool selective = false;
    /// With selective repeat: how many packets may overtake a packet before it counts as lost.
    std::uint32_t reorder_packets = 0;
    bool reacts = true;  ///< Receivers send CNPs, and senders slow down by `dcqcn`.
    link::DcqcnRule dcqcn = {};
    bool by_connection = false;  ///< Connections of a pair of ports differ in their UDP port.
};

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
        Kind kind = Kind::kData;
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
        std::uint32_t connection = kNone;  ///< Place of its connection in connections_, if known.
        /// With go-back-N: the receiver has asked for `expected`, which has not come yet.
        bool asked = false;
        bool waits = false;   ///< A timer is set that looks for progress.
        bool probes = false;  ///< The next packet is sent as a probe.
    };
    /// The state of a connection that has received a mark.
    struct Connection {
        link::Dcqcn rate;
        TimePs next_at = 0;                 ///< The sender sends nothing before.
        TimePs notification_after = 0;      ///< The receiver sends no CNP before.
        std::uint32_t parked_head = kNone;  ///< First message that waits until it may send.
        std::uint32_t parked_tail = kNone;  ///< Last message that waits until it may send.
        bool timed = false;                 ///< A timer is set that wakes the first of them.
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
    const Body& body(const Packet& packet) const { return bodies_[packet.body]; }
    /// Returns the body of a packet and frees its place.
    Body take_body(const Packet& packet) {
        free_bodies_.push_back(packet.body);
        return bodies_[packet.body];
    }

    /// Returns the state of the connection `key`, and keeps its place in `of`; nullptr if no packet
    /// of the connection was ever marked.
    Connection* find(std::uint64_t key, Progress& of) {
        if (of.connection == kNone && !numbers_.empty()) {
            const auto found = numbers_.find(key);
            of.connection = found == numbers_.end() ? kNone : found->second;
        }
        return of.connection == kNone ? nullptr : &connections_[of.connection];
    }
    /// Returns the state of the connection `key`, which is made if necessary.
    Connection& make(std::uint64_t key, Progress& of) {
        if (Connection* const known = find(key, of)) {
            return *known;
        }
        of.connection = static_cast<std::uint32_t>(connections_.size());
        numbers_.emplace(key, of.connection);
        return connections_.emplace_back();
    }

    std::size_t bytes() const {
        return progress_.capacity() * sizeof(Progress) + bodies_.capacity() * sizeof(Body) +
               connections_.capacity() * sizeof(Connection);
    }

  private:
    RoceConfig config_;
    std::vector<Progress> progress_;  ///< By message.
    std::vector<Body> bodies_;
    std::vector<std::uint32_t> free_bodies_;
    std::vector<Connection> connections_;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  ///< By key; never iterated.
};

}  // namespace softib::net
