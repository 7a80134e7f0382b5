// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <condition_variable>
#include <mutex>

#include "abi/rdmacm/id.h"
#include "abi/rdmacm/rsocket.h"

namespace softib::abi::rdmacm {

namespace {

constexpr int kNumbersMax = 65536;

std::mutex g_sockets_mutex;
std::condition_variable g_unused;
Rsocket* g_sockets[kNumbersMax];

bool in_range(int number) {
    return number >= 0 && number < kNumbersMax;
}

}  // namespace

SocketUse::SocketUse(int number) : socket_(nullptr) {
    const std::lock_guard guard(g_sockets_mutex);
    if (in_range(number) && g_sockets[number] != nullptr) {
        socket_ = g_sockets[number];
        ++socket_->users;
    } else {
        errno = EBADF;
    }
}

SocketUse::~SocketUse() {
    if (socket_ != nullptr) {
        const std::lock_guard guard(g_sockets_mutex);
        --socket_->users;
        g_unused.notify_all();
    }
}

int add_socket(Rsocket* socket) {
    const std::lock_guard guard(g_sockets_mutex);
    if (!in_range(socket->channel->fd)) {
        return fail(EMFILE);
    }
    g_sockets[socket->channel->fd] = socket;
    return socket->channel->fd;
}

Rsocket* remove_socket(int number) {
    std::unique_lock lock(g_sockets_mutex);
    if (!in_range(number) || g_sockets[number] == nullptr) {
        errno = EBADF;
        return nullptr;
    }
    Rsocket* const socket = g_sockets[number];
    g_sockets[number] = nullptr;
    g_unused.wait(lock, [socket] { return socket->users == 0; });
    return socket;
}

bool is_socket(int number) {
    const std::lock_guard guard(g_sockets_mutex);
    return in_range(number) && g_sockets[number] != nullptr;
}

}  // namespace softib::abi::rdmacm
