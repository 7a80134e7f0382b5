// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// One end of a trunk: a link between two fabrics that runs over datagrams. It finds out whether the
// other end is there and has the same key, seals what leaves, refuses datagrams that carry no valid
// seal or that it has taken before, and says how much may be under way, so that no socket buffer on
// the way overflows. It never repeats a lost datagram: RC and MAD senders do (ADR 11).
//
// A datagram, numbers with their first byte uppermost:
//
//    0  magic and version   "sTk1"
//    4  0
//    8  from                the sender's number: each session that was ever begun has another
//   16  to                  the receiver's number as the sender has heard it; 0: not yet
//   24  offset              bytes of bodies that the sender has sent before
//   32  seen                offset behind the last body that the sender has taken in
//   40  seal                see seal.h
//   48  body                may be empty: such a one only tells the rest
//
// An end believes its peer only after the peer has repeated its number, which an old datagram that
// somebody sends again does not have. Within a session no offset is taken twice; a datagram that
// was overtaken counts as lost.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/trunk/seal.h"

namespace softib::trunk {

inline constexpr std::size_t kHeaderBytes = 48;
inline constexpr std::size_t kBodyBytesMax = kDatagramBytesMax - kHeaderBytes;
inline constexpr std::uint64_t kHelloNs = 200'000'000;
inline constexpr std::uint64_t kHelloBlockedNs = 5'000'000;  ///< While it may not send.
inline constexpr std::uint64_t kSilenceNs = 1'500'000'000;   ///< Then the other end is gone.

class Session {
  public:
    /// `number`: not 0, and no other session with this key has had it. `window_bytes`: that the
    /// buffers on the way hold.
    Session(const SipKey& key, std::uint64_t number, std::uint64_t window_bytes);

    bool up() const { return up_; }
    bool may_send() const { return up_ && offset_ - acknowledged_ < window_bytes_; }
    /// Datagrams that no holder of the key has sealed.
    std::uint64_t refused() const { return refused_; }
    /// Peers that have come, one after the other.
    std::uint64_t sessions() const { return sessions_; }

    /// The body, or nothing where there is none for us. It stands in `datagram`.
    std::optional<std::span<const std::uint8_t>> handle_datagram(
        std::span<const std::uint8_t> datagram, std::uint64_t now_ns);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const { return next_hello_ns_; }

    /// A datagram whose body stands behind kHeaderBytes: writes the rest. Only when may_send().
    void seal(std::span<std::uint8_t> datagram);
    /// Makes a datagram without a body. Returns false if there is nothing to tell.
    bool poll_hello(std::span<std::uint8_t, kHeaderBytes> out, std::uint64_t now_ns);

  private:
    void write(std::span<std::uint8_t> datagram, std::uint64_t to);
    bool knows(std::uint64_t from);

    Sealer sealer_;
    std::uint64_t number_;
    std::uint64_t window_bytes_;
    std::uint64_t peer_ = 0;
    std::vector<std::uint64_t> former_;  ///< Peers before this one, which nobody may play again.
    bool up_ = false;
    std::uint64_t offset_ = 0;
    std::uint64_t acknowledged_ = 0;
    std::uint64_t seen_ = 0;
    std::uint64_t told_seen_ = 0;
    std::uint64_t answer_to_ = 0;  ///< Somebody who does not know our number yet.
    std::uint64_t heard_ns_ = 0;
    std::uint64_t next_hello_ns_ = 0;
    std::uint64_t refused_ = 0;
    std::uint64_t sessions_ = 0;
};

}  // namespace softib::trunk
