// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Sends a copy of the master's data to a standby manager. The data goes in pieces, each a Set of a
// vendor class that is answered by a GetResp, so that it can go wherever requests and answers can:
//
//     40  SM_Key (8)       56  bytes in all (4)
//     48  revision (8)     60  the piece, up to 196 bytes
//
// The attribute modifier is the number of the piece, the transaction the number of the transfer.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/wire/mad/mad.h"

namespace softib::sm {

/// The management class of messages between softib's managers: a vendor class with an OUI.
inline constexpr auto kReplicaClass = static_cast<wire::MgmtClass>(0x4D);
inline constexpr std::uint32_t kReplicaOui = 0x0250F7;
inline constexpr std::size_t kReplicaBytesMax = std::size_t{64} << 20;

/// One transfer to one standby.
class ReplicaSender {
  public:
    ReplicaSender(std::vector<std::uint8_t> data, std::uint64_t revision, std::uint64_t sm_key,
                  std::uint32_t transfer);

    std::optional<wire::MadBytes> poll_transmit(std::uint64_t now_ns);
    /// Takes an answer from the standby. An answer to another transfer is ignored.
    void handle(const wire::MadBytes& answer);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;

    std::uint64_t revision() const { return revision_; }
    /// Returns whether the transfer is over: the standby has all pieces, or it failed.
    bool over() const { return failed_ || missing_ == 0; }
    /// Returns whether the standby refused a piece or did not answer.
    bool failed() const { return failed_; }

  private:
    struct Piece {
        std::uint64_t deadline_ns = 0;  ///< Deadline of its answer; 0 if it is not under way.
        std::uint8_t tries = 0;
        bool arrived = false;
    };

    std::vector<std::uint8_t> data_;
    std::uint64_t revision_;
    std::uint64_t sm_key_;
    std::uint32_t transfer_;
    std::vector<Piece> pieces_;
    std::deque<std::uint32_t> due_;  ///< Numbers of the pieces to send, in this order.
    std::uint32_t under_way_ = 0;
    std::uint32_t missing_;
    bool failed_ = false;
};

/// The side of a standby, which puts the pieces together.
class ReplicaReceiver {
  public:
    /// Takes a piece and returns its answer; std::nullopt if the piece is malformed or has another
    /// SM_Key.
    std::optional<wire::MadBytes> handle(const wire::MadBytes& request, Lid from,
                                         std::uint64_t sm_key);
    /// Removes and returns the last copy that came whole; std::nullopt if there is none.
    std::optional<std::vector<std::uint8_t>> take();

  private:
    Lid from_;
    std::uint32_t transfer_ = 0;
    std::uint64_t revision_ = 0;
    std::vector<std::uint8_t> data_;
    std::vector<bool> arrived_;
    std::size_t missing_ = 0;
    std::optional<std::vector<std::uint8_t>> whole_;
};

}  // namespace softib::sm
