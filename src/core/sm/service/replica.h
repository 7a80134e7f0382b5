// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A copy of the master's data at a standby manager. The data goes in pieces, each a Set of a vendor
// class that is answered by GetResp, so that any path that carries requests and answers carries
// them:
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
#include "core/wire/mad.h"

namespace softib::sm {

/// The class of messages between managers of our kind, in the range of vendor classes with an OUI.
inline constexpr auto kReplicaClass = static_cast<wire::MgmtClass>(0x4D);
inline constexpr std::uint32_t kReplicaOui = 0x0250F7;
inline constexpr std::size_t kReplicaBytesMax = std::size_t{64} << 20;

/// One transfer to one standby.
class ReplicaSender {
  public:
    ReplicaSender(std::vector<std::uint8_t> data, std::uint64_t revision, std::uint64_t sm_key,
                  std::uint32_t transfer);

    std::optional<wire::MadBytes> poll_transmit(std::uint64_t now_ns);
    /// An answer that came from the standby; what is not to this transfer is left alone.
    void handle(const wire::MadBytes& answer);
    void handle_timeout(std::uint64_t now_ns);
    std::uint64_t next_timeout_ns() const;

    std::uint64_t revision() const { return revision_; }
    /// The standby has it all, or does not want it or answer: nothing more will happen.
    bool over() const { return failed_ || missing_ == 0; }
    bool failed() const { return failed_; }

  private:
    struct Piece {
        std::uint64_t deadline_ns = 0;  ///< 0: not under way.
        std::uint8_t tries = 0;
        bool arrived = false;
    };

    std::vector<std::uint8_t> data_;
    std::uint64_t revision_;
    std::uint64_t sm_key_;
    std::uint32_t transfer_;
    std::vector<Piece> pieces_;
    std::deque<std::uint32_t> due_;  ///< To send, in this order.
    std::uint32_t under_way_ = 0;
    std::uint32_t missing_;
    bool failed_ = false;
};

/// At a standby.
class ReplicaReceiver {
  public:
    /// The answer to a piece; none to what is malformed or has another key.
    std::optional<wire::MadBytes> handle(const wire::MadBytes& request, Lid from,
                                         std::uint64_t sm_key);
    /// The last that came whole; gone after this.
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
