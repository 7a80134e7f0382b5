// SPDX-License-Identifier: BSD-2-Clause
// Datagram sockets over RDMA, all in this process.
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rsocket.h>

#include <array>

#include "verbs_rig.h"

namespace softib::test {
namespace {

/// The number of send slots, and of datagrams that a socket keeps for one destination.
constexpr int kSlots = 64;

struct DatagramSocket {
    DatagramSocket() {
        EXPECT_GE(number, 0);
        EXPECT_EQ(rfcntl(number, F_SETFL, O_NONBLOCK), 0);
    }
    ~DatagramSocket() { EXPECT_EQ(rclose(number), 0); }
    DatagramSocket(const DatagramSocket&) = delete;
    DatagramSocket& operator=(const DatagramSocket&) = delete;

    void bind() const {
        sockaddr_in any{};
        any.sin_family = AF_INET;
        EXPECT_EQ(rbind(number, reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
    }
    /// Its address at the first host.
    sockaddr_in address() const {
        sockaddr_in own{};
        socklen_t bytes = sizeof own;
        EXPECT_EQ(rgetsockname(number, reinterpret_cast<sockaddr*>(&own), &bytes), 0);
        inet_pton(AF_INET, "127.55.0.1", &own.sin_addr);
        return own;
    }
    void send(const sockaddr_in& to, int value) const {
        EXPECT_EQ(rsendto(number, &value, sizeof value, 0, reinterpret_cast<const sockaddr*>(&to),
                          sizeof to),
                  static_cast<ssize_t>(sizeof value));
    }
    /// Takes what has come, and goes on with lookups. Returns whether there is something to read.
    bool progress(int timeout_ms = 0) const {
        pollfd wanted{.fd = number, .events = POLLIN, .revents = 0};
        return rpoll(&wanted, 1, timeout_ms) == 1;
    }

    const int number = rsocket(AF_INET, SOCK_DGRAM, 0);
};

TEST(DatagramSocket, DatagramsThatFindNoSendSlotAfterALookupAreSentLater) {
    const std::array<DatagramSocket, 3> servers;
    const DatagramSocket client;
    for (const DatagramSocket& server : servers) {
        server.bind();
        const sockaddr_in to = server.address();
        for (int i = 0; i < kSlots; ++i) {
            client.send(to, i);
        }
    }
    // No server answers before all have been asked, so that the answers come together.
    const auto limit = std::chrono::steady_clock::now() + kLong;
    for (const DatagramSocket& server : servers) {
        while (!readable(server.number, 0ms)) {
            client.progress();
            ASSERT_LT(std::chrono::steady_clock::now(), limit);
        }
    }
    for (const DatagramSocket& server : servers) {
        server.progress();
    }
    const DatagramSocket later;
    later.bind();  // The daemon does this after it has sent the answers.
    std::array<int, 3> received{};
    while (received != std::array{kSlots, kSlots, kSlots}) {
        ASSERT_LT(std::chrono::steady_clock::now(), limit) << "datagrams are lost";
        client.progress();
        for (std::size_t i = 0; i < servers.size(); ++i) {
            int value = -1;
            while (servers[i].progress() && rrecv(servers[i].number, &value, sizeof value, 0) > 0) {
                EXPECT_EQ(value, received[i]++);
            }
        }
    }
}

}  // namespace
}  // namespace softib::test
