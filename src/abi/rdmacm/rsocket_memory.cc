// SPDX-License-Identifier: BSD-2-Clause
// Memory that one side maps (riomap) and the other writes to by offset (riowrite). The side that
// maps tells the other by a notice in the stream, which precedes everything that it sends later.
#include <endian.h>
#include <rdma/rsocket.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "abi/rdmacm/id.h"
#include "abi/rdmacm/rsocket.h"

namespace softib::abi::rdmacm {

namespace {

constexpr std::size_t kMapsMax = 256;

void put(std::uint8_t* at, std::uint64_t value) {
    const std::uint64_t big = htobe64(value);
    std::memcpy(at, &big, sizeof big);
}

std::uint64_t get(const std::uint8_t* at) {
    std::uint64_t big = 0;
    std::memcpy(&big, at, sizeof big);
    return be64toh(big);
}

/// Returns the notice of a mapping: offset, length (0 if it is unmapped), address, R_Key.
Notice notice_of(const RemoteMap& map) {
    Notice notice{};
    put(notice.data(), map.offset);
    put(notice.data() + 8, map.bytes);
    put(notice.data() + 16, map.address);
    put(notice.data() + 24, map.rkey);
    return notice;
}

void announce(Rsocket& socket, const RemoteMap& map) {
    socket.notices.push_back(notice_of(map));
    send_notices(socket);
}

const RemoteMap* find_remote(const Rsocket& socket, std::uint64_t offset) {
    const auto found = std::ranges::find_if(socket.remote_maps, [offset](const RemoteMap& map) {
        return offset >= map.offset && offset - map.offset < map.bytes;
    });
    return found == socket.remote_maps.end() ? nullptr : &*found;
}

/// Returns 0 if the socket can be written to, otherwise an errno value that says why not.
int why_not(const Rsocket& socket) {
    if (socket.state == SocketState::kFailed && socket.error != 0) {
        return socket.error;
    }
    if (socket.state == SocketState::kFailed || socket.state == SocketState::kClosed ||
        socket.sent_end) {
        return EPIPE;
    }
    return socket.state == SocketState::kConnected ? 0 : ENOTCONN;
}

}  // namespace

void take_notice(Rsocket& socket, std::span<const std::uint8_t> notice) {
    if (notice.size() != kNoticeBytes) {
        return;
    }
    const RemoteMap map{.offset = get(notice.data()),
                        .bytes = get(notice.data() + 8),
                        .address = get(notice.data() + 16),
                        .rkey = static_cast<std::uint32_t>(get(notice.data() + 24))};
    std::erase_if(socket.remote_maps,
                  [&map](const RemoteMap& known) { return known.offset == map.offset; });
    if (map.bytes > 0 && socket.remote_maps.size() < kMapsMax) {
        socket.remote_maps.push_back(map);
    }
}

}  // namespace softib::abi::rdmacm

using namespace softib::abi::rdmacm;

extern "C" {

off_t riomap(int number, void* buf, size_t len, int prot, int, off_t offset) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    const std::lock_guard guard(socket->mutex);
    if (socket->state != SocketState::kConnected || socket->mr == nullptr || len == 0 ||
        (prot & ~PROT_WRITE) != 0) {
        return fail(EINVAL);
    }
    if (socket->maps.size() >= kMapsMax) {
        return fail(ENOBUFS);
    }
    const bool writable = (prot & PROT_WRITE) != 0;
    LocalMap map{.memory = buf, .bytes = len, .announced = writable};
    map.offset =
        offset == -1 ? reinterpret_cast<std::uintptr_t>(buf) : static_cast<std::uint64_t>(offset);
    map.mr = ibv_reg_mr(socket->id->pd, buf, len,
                        IBV_ACCESS_LOCAL_WRITE | (writable ? IBV_ACCESS_REMOTE_WRITE : 0));
    if (map.mr == nullptr) {
        return -1;
    }
    socket->maps.push_back(map);
    if (writable) {
        announce(*socket, {.offset = map.offset,
                           .bytes = len,
                           .address = reinterpret_cast<std::uintptr_t>(buf),
                           .rkey = map.mr->rkey});
    }
    return static_cast<off_t>(map.offset);
}

int riounmap(int number, void* buf, size_t len) {
    const SocketUse socket(number);
    if (!socket) {
        return -1;
    }
    const std::lock_guard guard(socket->mutex);
    const auto found = std::ranges::find_if(socket->maps, [buf, len](const LocalMap& map) {
        return map.memory == buf && map.bytes == len;
    });
    if (found == socket->maps.end()) {
        return fail(EINVAL);
    }
    if (found->announced && socket->state == SocketState::kConnected) {
        announce(*socket, {.offset = found->offset});
    }
    const int error = ibv_dereg_mr(found->mr);
    socket->maps.erase(found);
    return checked(error);
}

size_t riowrite(int number, const void* buf, size_t count, off_t offset, int flags) {
    const auto failed = static_cast<size_t>(-1);
    const SocketUse socket(number);
    if (!socket) {
        return failed;
    }
    std::unique_lock lock(socket->mutex);
    const auto* const data = static_cast<const std::uint8_t*>(buf);
    std::size_t done = 0;
    progress_transfer(*socket);
    while (done < count) {
        int error = why_not(*socket);
        const RemoteMap* const map =
            find_remote(*socket, static_cast<std::uint64_t>(offset) + done);
        if (error == 0 && map == nullptr) {
            error = EINVAL;
        }
        if (error == 0 && socket->free_sends != 0) {
            const std::uint64_t at = static_cast<std::uint64_t>(offset) + done - map->offset;
            const std::size_t bytes = std::min<std::uint64_t>(count - done, map->bytes - at);
            done += write_remote(*socket, {data + done, bytes}, map->address + at, map->rkey);
            continue;
        }
        if (error == 0) {
            progress_transfer(*socket);
            if (socket->free_sends != 0) {
                continue;
            }
            if (!socket->nonblocking && (flags & MSG_DONTWAIT) == 0) {
                wait(*socket, lock);
                continue;
            }
            error = EAGAIN;
        }
        if (done > 0) {
            break;
        }
        errno = error;
        return failed;
    }
    return done;
}

}  // extern "C"
