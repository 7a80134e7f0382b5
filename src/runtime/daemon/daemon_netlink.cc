// SPDX-License-Identifier: BSD-2-Clause
// The daemon's side of netlink sockets, which are connections with netlink messages as packets.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>

#include "runtime/daemon/daemon.h"
#include "runtime/daemon/netlink/rdma_netlink.h"
#include "runtime/shm/naming.h"

namespace softib::daemon {

namespace {

/// The longest request. A longer one is cut, and its first part is answered.
constexpr std::size_t kRequestBytesMax = 8192;

}  // namespace

int Daemon::handle(Connection& connection, const shm::request::NetlinkOpen& request) {
    if (connection.owner != 0 || connection.uses_cm || connection.mad_hca != UINT32_MAX) {
        return EALREADY;
    }
    if (list_devices(arena_, request.hosts, {}) == 0) {
        return ENOENT;
    }
    connection.netlink =
        std::make_unique<NetlinkSocket>(std::string(request.hosts), request.port_id);
    return 0;
}

std::vector<std::string> Daemon::answer_netlink(const Connection& connection,
                                                std::string_view datagram) {
    // A program that has seen a process end must not see objects of that process.
    while (!dying_.empty()) {
        reclaim_one();
    }
    const NetlinkView view{
        .arena = arena_,
        .hosts = connection.netlink->hosts,
        .port_id = connection.netlink->port_id,
        .endpoints = [this] {
            std::vector<CmEndpoint> endpoints;
            for (const CmClients::Shown& each : cm_->endpoints()) {
                const auto program = connections_.find(each.fd);
                endpoints.push_back(
                    {.host = each.host,
                     .hca = each.hca,
                     .pid = program != connections_.end() ? program->second->pid : 0,
                     .endpoint = each.endpoint});
            }
            return endpoints;
        }};
    return daemon::answer_netlink(view, datagram);
}

void Daemon::serve_netlink(Connection& connection) {
    std::deque<std::string>& unsent = connection.netlink->unsent;
    // The next request waits until the program has read the answers to the last one.
    if (unsent.empty()) {
        std::array<char, kRequestBytesMax> request{};
        const ssize_t n = recv(connection.fd, request.data(), request.size(), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
            return;
        }
        if (n <= 0) {
            drop(connection.fd);
            return;
        }
        for (std::string& datagram :
             answer_netlink(connection, {request.data(), static_cast<std::size_t>(n)})) {
            unsent.push_back(std::move(datagram));
        }
    }
    while (!unsent.empty()) {
        const std::string& datagram = unsent.front();
        if (send(connection.fd, datagram.data(), datagram.size(), MSG_DONTWAIT | MSG_NOSIGNAL) <
            0) {
            if (errno == EAGAIN) {
                break;
            }
            drop(connection.fd);
            return;
        }
        unsent.pop_front();
    }
    watch_for(connection, unsent.empty() ? EPOLLIN : EPOLLOUT);
}

}  // namespace softib::daemon
