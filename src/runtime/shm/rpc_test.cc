// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/shm/rpc.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <string>

namespace softib::shm {
namespace {

class Rpc : public testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds_.data()), 0);
    }
    void TearDown() override {
        close(fds_[0]);
        close(fds_[1]);
    }
    /// Receives a message. Returns 0 or an errno value.
    int receive(Message& message, int* fd = nullptr) {
        return rpc_receive(fds_[1], message, fd) ? 0 : errno;
    }
    int receive_raw(const void* data, std::size_t bytes) {
        EXPECT_EQ(send(fds_[0], data, bytes, 0), static_cast<ssize_t>(bytes));
        Message message;
        return receive(message);
    }

    std::array<int, 2> fds_{};
};

Message with_text(const std::string& text) {
    Message message;
    EXPECT_TRUE(to_message(request::Attach{.hosts = text}, message));
    return message;
}

TEST_F(Rpc, MessageArrivesWithItsTextAndDescriptor) {
    ASSERT_TRUE(rpc_send(fds_[0], with_text("h0,h1"), STDERR_FILENO));
    Message message;
    int fd = -1;
    ASSERT_EQ(receive(message, &fd), 0);
    request::Attach request{};
    ASSERT_TRUE(decode(message, request));
    EXPECT_EQ(request.hosts, "h0,h1");
    ASSERT_GE(fd, 0);
    EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
    close(fd);
}

TEST_F(Rpc, UnwantedDescriptorIsClosed) {
    ASSERT_TRUE(rpc_send(fds_[0], with_text(""), STDERR_FILENO));
    const int next = dup(STDERR_FILENO);
    close(next);
    Message message;
    ASSERT_EQ(receive(message), 0);
    EXPECT_EQ(fcntl(next, F_GETFD), -1);
}

TEST_F(Rpc, LongestTextFits) {
    ASSERT_TRUE(rpc_send(fds_[0], with_text(std::string(kTextMax, 'x')), -1));
    Message message;
    ASSERT_EQ(receive(message), 0);
    request::Attach request{};
    ASSERT_TRUE(decode(message, request));
    EXPECT_EQ(request.hosts.size(), kTextMax);
    message.body_bytes = kBodyMax + 1;
    EXPECT_FALSE(rpc_send(fds_[0], message, -1));
    EXPECT_EQ(errno, EMSGSIZE);
}

TEST_F(Rpc, WhatIsNoWholeMessageIsRefused) {
    constexpr std::size_t kHead = kMessageHeadBytes + sizeof(std::uint32_t);
    Message message = with_text("abc");
    EXPECT_EQ(receive_raw("x", 1), EPROTO);
    EXPECT_EQ(receive_raw(&message, kMessageHeadBytes - 1), EPROTO);
    EXPECT_EQ(receive_raw(&message, kHead + 2), EPROTO);
    EXPECT_EQ(receive_raw(&message, kHead + 4), EPROTO);
    EXPECT_EQ(receive_raw(&message, kHead + 3), 0);
    message.version = kProtocolVersion + 1;
    EXPECT_EQ(receive_raw(&message, kHead + 3), EPROTONOSUPPORT);
    const std::array<char, 2 * sizeof(Message)> flood{};
    EXPECT_EQ(receive_raw(flood.data(), flood.size()), EPROTO);
}

TEST_F(Rpc, ClosedPeerIsAnErrorAndNoSignal) {
    close(fds_[0]);
    Message message;
    EXPECT_EQ(receive(message), ECONNRESET);
    EXPECT_FALSE(rpc_send(fds_[1], message, -1));
    EXPECT_EQ(errno, EPIPE);
    fds_[0] = dup(STDERR_FILENO);
}

TEST(RpcConnect, NoDaemonIsTold) {
    EXPECT_EQ(rpc_connect("/nonexistent"), -1);
    EXPECT_EQ(errno, ENOENT);
    EXPECT_EQ(rpc_connect(("/" + std::string(200, 'x')).c_str()), -1);
    EXPECT_EQ(errno, ENOENT);
}

}  // namespace
}  // namespace softib::shm
