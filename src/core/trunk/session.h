// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One end of a trunk: a link between two fabrics that runs over UDP datagrams. A session finds out
// whether the other end is there and has the same key, seals the datagrams that it sends, and
// refuses datagrams that have no valid seal or that it has accepted before. It limits how many
// bytes are under way, so that no socket buffer on the way overflows. It never sends a lost
// datagram again: the senders of RC packets and MADs do (ADR 11).
//
// A datagram; numbers are big-endian:
//
//    0  magic and version   "sTk1"
//    4  0
//    8  from                the number of the sending session, which no other session ever has
//   16  to                  the receiver's number as the sender has heard it; 0: not yet
//   24  offset              bytes of bodies that the sender has sent before
//   32  seen                offset behind the last body that the sender has accepted
//   40  seal                see seal.h
//   48  body                empty in a hello, which only carries the header
//
// An end accepts datagrams only if they repeat its own number. So an old datagram that an attacker
// sends again to a later session is refused. Within a session no offset is accepted twice; a
// datagram that another has overtaken counts as lost.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/trunk/seal.h"

namespace softib::trunk {

inline constexpr std::size_t kHeaderBytes = 48;
/// The time between two datagrams without a body.
inline constexpr std::uint64_t kHelloNs = 200'000'000;
/// The time until the next datagram without a body while the window is full.
inline constexpr std::uint64_t kHelloBlockedNs = 5'000'000;
/// The silence after which the other end counts as gone.
inline constexpr std::uint64_t kSilenceNs = 1'500'000'000;

class Session {
  public:
    /// `number` must not be 0, and no other session with this key may have had it. `window_bytes`
    /// is the number of bytes that the buffers on the way hold.
    Session(const SipKey& key, std::uint64_t number, std::uint64_t window_bytes);

    bool up() const { return up_; }
    bool may_send() const { return up_ && offset_ - acknowledged_ < window_bytes_; }
    /// Returns the number of datagrams that were refused because their form or seal was wrong.
    std::uint64_t refused() const { return refused_; }
    /// Returns the number of sessions of the other end that this one has been connected to, one
    /// after the other.
    std::uint64_t sessions() const { return sessions_; }

    /// Handles a received datagram. Returns its body, which is a part of `datagram`; std::nullopt
    /// if the datagram is refused or has no body.
    std::optional<std::span<const std::uint8_t>> handle_datagram(
        std::span<const std::uint8_t> datagram, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return next_hello_ns_; }

    /// Writes the header of a datagram whose body is in place after the first kHeaderBytes bytes.
    /// The caller sends the datagram. Call this only if may_send().
    void seal(std::span<std::uint8_t> datagram);
    /// Makes a datagram without a body (a hello), for the caller to send. Returns false if none is
    /// due.
    bool poll_hello(std::span<std::uint8_t, kHeaderBytes> out, std::uint64_t now_ns);

  private:
    void write(std::span<std::uint8_t> datagram, std::uint64_t to);
    bool knows(std::uint64_t from);

    Sealer sealer_;
    std::uint64_t number_;
    std::uint64_t window_bytes_;
    std::uint64_t peer_ = 0;
    std::vector<std::uint64_t> former_;  ///< Earlier peers, whose datagrams are refused.
    bool up_ = false;
    std::uint64_t offset_ = 0;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t seen_ = 0;
    std::uint64_t told_seen_ = 0;
    std::uint64_t answer_to_ = 0;  ///< A session that does not know our number yet; 0: none.
    std::uint64_t heard_ns_ = 0;
    std::uint64_t next_hello_ns_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t sessions_ = 0;
};

}  // namespace softib::trunk
