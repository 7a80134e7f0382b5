// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// How a connection comes about: listen, connect, accept, none of which may wait. The connector
// sends its letter to the listener's mailbox until the reply is there; the listener replies, and
// takes the connection for made when the connector's greeting has come over it.

#include <chrono>
#include <memory>
#include <set>
#include <utility>

#include "abi/nccl/connection.h"

namespace softib::abi::nccl {

class Connecting;

/// What NCCL carries from listener to connector. NCCL asks the connector again with the same
/// handle until it is connected, so the attempt stands in it meanwhile.
struct Handle {
    static constexpr std::uint64_t kMagic = 0x736F66746962636E;

    std::uint64_t magic;
    std::uint64_t token;
    Address listener;
    Connecting* attempt;
};
static_assert(sizeof(Handle) <= kHandleBytes);

class Listener {
  public:
    explicit Listener(const Device& device);

    bool works() const { return mailbox_.works(); }
    Handle handle() const;
    /// `end` stays empty until somebody has connected.
    Result accept(std::unique_ptr<ReceiveEnd>& end);

  private:
    Result answer(const Letter& letter);
    void reply(const Letter& letter);

    const Device& device_;
    Mailbox mailbox_;
    std::uint64_t token_;
    std::unique_ptr<ReceiveEnd> pending_;
    Letter pending_letter_{};
    std::set<std::uint64_t> served_;  ///< LID and QPN of connectors, whose letters may come late.
};

class Connecting {
  public:
    explicit Connecting(const Device& device);

    bool works() const { return works_; }
    /// `end` stays empty until the listener has answered.
    Result go_on(const Handle& handle, std::unique_ptr<SendEnd>& end);

  private:
    std::unique_ptr<SendEnd> end_;
    Mailbox mailbox_;
    bool works_;
    std::chrono::steady_clock::time_point next_letter_{};
};

/// A number that no other call has returned, in any process.
std::uint64_t random_token();

}  // namespace softib::abi::nccl
