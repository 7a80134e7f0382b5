// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Makes connections by NCCL's listen, connect and accept, none of which may block. The connector
// sends its letter to the listener's mailbox (mailbox.h) again and again until the reply comes. The
// listener replies; for it the connection is made when the connector's greeting has come over it.

#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "abi/nccl/connection.h"

namespace softib::abi::nccl {

class Connecting;

/// What NCCL passes from the listener to the connector. NCCL calls connect with the same handle
/// until the connection is made, so the connector keeps its attempt there.
struct Handle {
    static constexpr std::uint64_t kMagic = 0x736F66746962636E;

    std::uint64_t magic;
    std::uint64_t token;  ///< The listener's number, which letters to it must have.
    Address listener;     ///< Address of the listener's mailbox.
    Connecting* attempt;  ///< The connector's attempt; nullptr before the first call.
};
static_assert(sizeof(Handle) <= kHandleBytes);

class Listener {
  public:
    explicit Listener(const Device& device);

    /// Returns the errno value of what failed when the listener was made; 0 if it works.
    int error() const { return mailbox_.error(); }
    Handle handle() const;
    /// Goes on accepting. `end` stays empty until a connector is connected.
    Result accept(std::unique_ptr<ReceiveEnd>& end);

  private:
    Result answer(const Letter& letter);
    Result reply(const Letter& letter);

    const Device& device_;
    Mailbox mailbox_;
    std::uint64_t token_;
    std::unique_ptr<ReceiveEnd> pending_;  ///< The connection whose greeting has not come yet.
    Letter pending_letter_{};              ///< The letter that asked for the pending connection.
    std::set<std::uint64_t> served_;  ///< LID and QPN of connected peers: letters may come late.
};

/// A connector's attempt to connect.
class Connecting {
  public:
    explicit Connecting(const Device& device);

    /// Returns the errno value of what failed when the attempt was made; 0 if it works.
    int error() const { return error_; }
    /// Goes on connecting. `end` stays empty until the listener has replied.
    Result go_on(const Handle& handle, std::unique_ptr<SendEnd>& end);

  private:
    std::unique_ptr<SendEnd> end_;
    Mailbox mailbox_;
    int error_;
    std::chrono::steady_clock::time_point next_letter_{};
};

/// Returns a random number of 64 bits, which practically no other call returns, in any process.
std::uint64_t random_token();

}  // namespace softib::abi::nccl
