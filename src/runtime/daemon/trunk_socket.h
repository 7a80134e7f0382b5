// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The UDP socket of one end of a trunk, with the session that runs over it. The socket is connected
// and receives from its peer only.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/trunk/session.h"
#include "spec/trunk_plan.h"

namespace softib::daemon {

class TrunkSocket {
  public:
    /// What a socket carries. kManagement has UDP ports one above those of kPackets.
    enum Channel : std::uint8_t { kPackets = 0, kManagement = 1 };
    /// Opens the socket of a trunk. The error is a text for the user.
    static std::expected<std::unique_ptr<TrunkSocket>, std::string> open(
        const spec::TrunkPlan& plan, const SipKey& key, Channel channel);
    ~TrunkSocket();
    TrunkSocket(const TrunkSocket&) = delete;
    TrunkSocket& operator=(const TrunkSocket&) = delete;

    int fd() const { return fd_; }
    const trunk::Session& session() const { return session_; }
    /// Returns the length of the longest datagram that IP does not fragment.
    std::size_t datagram_bytes() const { return datagram_bytes_; }

    using Taker = std::function<void(std::span<const std::uint8_t> body)>;
    /// Receives a few datagrams and calls `take` with the body of each. Returns false if there were
    /// none.
    bool receive(std::uint64_t now_ns, const Taker& take);
    /// Sends a datagram whose body begins at trunk::kHeaderBytes; only if session().may_send(). It
    /// is lost if the kernel has no room for it.
    void send(std::span<std::uint8_t> datagram);
    /// Does what is due for the session. Returns the time at which it must be called again.
    std::uint64_t run(std::uint64_t now_ns);

  private:
    struct Inbox;
    TrunkSocket(int fd, const SipKey& key);

    int fd_;
    std::size_t datagram_bytes_;
    trunk::Session session_;
    std::unique_ptr<Inbox> inbox_;
};

}  // namespace softib::daemon
