// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What message hosts keep when they speak RoCEv2: packets have sequence numbers, a receiver answers
// marks with notifications (CNP), a connection has a rate (DCQCN), and what is lost is sent again
// by go-back-N or one by one. message_roce.cc is how.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/link/dcqcn.h"
#include "net/hosts/psn_ranges.h"
#include "net/packet.h"

namespace softib::net {

struct RoceConfig {
    bool selective = false;  ///< Only what was lost is sent again; else all from there on.
    /// Selective: how many packets overtake one before it counts as lost.
    std::uint32_t reorder_packets = 0;
    bool reacts = true;  ///< Receivers send notifications, senders slow down by `dcqcn`.
    link::DcqcnRule dcqcn = {};
    bool by_connection = false;  ///< Connections of one pair of ports differ in their UDP port.
};

/// Bytes on the wire, with preamble and gap between frames: Ethernet 38, IPv4 20, UDP 8, BTH 12,
/// ICRC 4.
inline constexpr std::uint16_t kRoceHeaderBytes = 82;
inline constexpr std::uint16_t kRoceAckBytes = kRoceHeaderBytes + 4;            ///< AETH.
inline constexpr std::uint16_t kRoceNotificationBytes = kRoceHeaderBytes + 16;  ///< CNP.

class RoceState {
  public:
    enum class Kind : std::uint8_t {
        kData,
        kProbe,         ///< Data that is sent again after a timeout: it is answered at once.
        kAck,           ///< All before `psn` has come.
        kNak,           ///< Go-back-N: send from `psn` on. Selective: `count` from there on.
        kStatus,        ///< Selective, to a probe: all that has come, as a bitmap would tell.
        kNotification,  ///< CNP.
    };
    /// What a packet carries beside the engine's Packet.
    struct Body {
        std::uint32_t message = 0;
        std::uint32_t psn = 0;
        std::uint32_t count = 0;
        Kind kind = Kind::kData;
    };
    /// How far a message is. Sequence numbers begin at 0 in each.
    struct Progress {
        // The sender's.
        std::uint32_t acked = 0;  ///< All before it has come, as far as the sender knows.
        std::uint32_t next = 0;   ///< The next to be sent that is not in `resend`.
        std::uint32_t high = 0;   ///< One behind the highest that was ever sent.
        std::uint32_t rounds = 0;
        PsnRanges resend = {};  ///< Selective.
        TimePs moved_at = 0;    ///< When something was last sent or acknowledged.
        // The receiver's.
        std::uint32_t expected = 0;
        std::uint32_t named = 0;  ///< Selective: what is missing below this was asked for.
        PsnRanges came = {};      ///< Selective: above `expected`.
        std::uint32_t connection = kNone;
        bool asked = false;   ///< Go-back-N: for `expected`, and it has not come yet.
        bool waits = false;   ///< A timer will look whether something moves.
        bool probes = false;  ///< The next packet is a probe.
    };
    /// Of a connection that has received a mark.
    struct Connection {
        link::Dcqcn rate;
        TimePs next_at = 0;             ///< It sends nothing before.
        TimePs notification_after = 0;  ///< Its receiver sends no notification before.
        // Messages that wait until it may send, and whether a timer will wake the first.
        std::uint32_t parked_head = kNone;
        std::uint32_t parked_tail = kNone;
        bool timed = false;
    };

    explicit RoceState(const RoceConfig& config) : config_(config) {}

    const RoceConfig& config() const { return config_; }
    Progress& progress(std::uint32_t message) { return progress_[message]; }
    /// Message numbers are used again.
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
    Body take_body(const Packet& packet) {
        free_bodies_.push_back(packet.body);
        return bodies_[packet.body];
    }

    /// nullptr: nothing of it was ever marked.
    Connection* find(std::uint64_t key, Progress& of) {
        if (of.connection == kNone && !numbers_.empty()) {
            const auto found = numbers_.find(key);
            of.connection = found == numbers_.end() ? kNone : found->second;
        }
        return of.connection == kNone ? nullptr : &connections_[of.connection];
    }
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
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  ///< Only looked up.
};

}  // namespace softib::net
