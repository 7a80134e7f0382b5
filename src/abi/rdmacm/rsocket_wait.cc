// SPDX-License-Identifier: BSD-2-Clause
// Waiting until something happens to one socket: the thread spins for a moment, then sleeps.
#include <poll.h>

#include <chrono>

#include "abi/rdmacm/rsocket.h"
#include "runtime/shm/shm_lock.h"

namespace softib::abi::rdmacm {

namespace {

// A wait begins by spinning, because to be woken takes longer than most answers do. After
// kVainSpinsMax spins in vain, the peer may need our core: then only one in kWaitsPerSpin waits
// spins.
constexpr auto kSpin = std::chrono::microseconds(10);
constexpr std::uint32_t kVainSpinsMax = 8;
constexpr std::uint32_t kWaitsPerSpin = 16;

/// Spins for a moment. Returns true if something has happened to the socket, whichever thread saw
/// it.
bool spin(Rsocket& socket, std::unique_lock<std::mutex>& lock) {
    if (socket.cq == nullptr || socket.datagrams != nullptr) {
        return false;
    }
    const bool was_vain = socket.vain_spins >= kVainSpinsMax;
    if (was_vain && ++socket.vain_spins % kWaitsPerSpin != 0) {
        return false;
    }
    const std::uint64_t before = socket.changes;
    const auto end = std::chrono::steady_clock::now() + kSpin;
    do {
        lock.unlock();
        shm::cpu_relax();
        lock.lock();
        progress_transfer(socket);
        if (socket.changes != before) {
            socket.vain_spins = 0;
            return true;
        }
    } while (std::chrono::steady_clock::now() < end);
    socket.vain_spins += was_vain ? 0 : 1;
    return false;
}

}  // namespace

bool wait(Rsocket& socket, std::unique_lock<std::mutex>& lock, const Patience& patience) {
    const int left_ms = patience.left_ms();
    if (left_ms == 0) {
        return false;
    }
    if (socket.somebody_waits) {
        if (left_ms < 0) {
            socket.changed.wait(lock);
        } else {
            socket.changed.wait_for(lock, std::chrono::milliseconds(left_ms));
        }
        return true;
    }
    socket.somebody_waits = true;
    if (!spin(socket, lock)) {
        if (arm(socket)) {
            pollfd waited[2] = {{.fd = socket.channel->fd, .events = POLLIN, .revents = 0},
                                {.fd = completion_fd(socket), .events = POLLIN, .revents = 0}};
            lock.unlock();
            poll(waited, 2, left_ms);
            lock.lock();
        }
        progress(socket);
    }
    socket.somebody_waits = false;
    socket.changed.notify_all();
    return true;
}

}  // namespace softib::abi::rdmacm
