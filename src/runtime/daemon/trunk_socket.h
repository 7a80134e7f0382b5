// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The UDP socket of one end of a trunk, with the session that runs over it. It hears only its peer.

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/trunk/session.h"
#include "spec/trunk_plan.h"

namespace softib::live {

class TrunkSocket {
  public:
    /// Management has the ports behind those of packets.
    enum Channel : std::uint8_t { kPackets = 0, kManagement = 1 };
    /// The text of an error is for the user.
    static std::expected<std::unique_ptr<TrunkSocket>, std::string> open(
        const spec::TrunkPlan& plan, const SipKey& key, Channel channel);
    ~TrunkSocket();
    TrunkSocket(const TrunkSocket&) = delete;
    TrunkSocket& operator=(const TrunkSocket&) = delete;

    int fd() const { return fd_; }
    const trunk::Session& session() const { return session_; }
    /// How long the datagrams may be that leave here without being cut into pieces.
    std::size_t datagram_bytes() const { return datagram_bytes_; }

    using Taker = std::function<void(std::span<const std::uint8_t> body)>;
    /// Takes in a few datagrams; false: there were none.
    bool receive(std::uint64_t now_ns, const Taker& take);
    /// Sends one whose body stands behind trunk::kHeaderBytes. Only when session().may_send(). What
    /// the kernel has no room for is lost.
    void send(std::span<std::uint8_t> datagram);
    /// Does what is due; returns when it wants to be called again.
    std::uint64_t run(std::uint64_t now_ns);

  private:
    struct Inbox;
    TrunkSocket(int fd, const SipKey& key);

    int fd_;
    std::size_t datagram_bytes_;
    trunk::Session session_;
    std::unique_ptr<Inbox> inbox_;
};

}  // namespace softib::live
