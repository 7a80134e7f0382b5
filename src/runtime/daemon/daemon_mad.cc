// SPDX-License-Identifier: BSD-2-Clause
// The daemon's side of MADs: from connections to MadClients and back.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <string_view>
#include <vector>

#include "core/base/time_units.h"
#include "core/wire/rmpp.h"
#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/rpc.h"

namespace softib::live {

namespace {

constexpr std::uint32_t kMadTextBytes = sizeof(MadFrame) + wire::kMadBytes;

bool has_hca(const Arena& arena, std::string_view hosts, std::uint32_t hca) {
    std::vector<DeviceEntry> devices(list_devices(arena, hosts, {}));
    list_devices(arena, hosts, devices);
    return std::ranges::any_of(devices, [hca](const DeviceEntry& d) { return d.hca == hca; });
}

/// The whole of a long message, from the file that came along with its first part.
bool read_long(int fd, std::uint32_t bytes, std::vector<std::uint8_t>& message) {
    struct stat st{};
    if (fd < 0 || bytes > kMadMessageMax || fstat(fd, &st) != 0 || st.st_size < bytes) {
        return false;
    }
    message.resize(bytes);
    return pread(fd, message.data(), bytes, 0) == static_cast<ssize_t>(bytes);
}

int make_long(const std::vector<std::uint8_t>& message) {
    const int fd = memfd_create("softib-mad", MFD_CLOEXEC);
    if (fd >= 0 &&
        pwrite(fd, message.data(), message.size(), 0) != static_cast<ssize_t>(message.size())) {
        close(fd);
        return -1;
    }
    return fd;
}

}  // namespace

void Daemon::handle_mad_open(Connection& connection, Message& message) {
    const std::string_view hosts(message.text, message.text_bytes);
    if (connection.owner != 0 || connection.mad_hca != UINT32_MAX) {
        message.status = EALREADY;
    } else if (message.port != 1 || !has_hca(arena_, hosts, message.index)) {
        message.status = ENODEV;
    } else {
        connection.mad_hca = message.index;
        clients_.open(connection.fd, message.index);
        message.status = 0;
    }
}

/// While the connection lives, its port says that a subnet manager is behind it.
void Daemon::handle_is_manager(Connection& connection, Message& message) {
    const std::string_view hosts(message.text, message.text_bytes);
    std::vector<DeviceEntry> devices(list_devices(arena_, hosts, {}));
    list_devices(arena_, hosts, devices);
    if (connection.owner != 0 || connection.manager_hca != UINT32_MAX) {
        message.status = EALREADY;
    } else if (message.index >= devices.size()) {
        message.status = ENODEV;
    } else {
        connection.manager_hca = devices[message.index].hca;
        if (managers_[connection.manager_hca]++ == 0) {
            management_.set_is_manager(connection.manager_hca, true, monotonic_ns());
            hand_out_mads();
        }
        message.status = 0;
    }
}

void Daemon::handle_mad_agent(const Connection& connection, const Message& message) {
    if (connection.mad_hca == UINT32_MAX) {
        return;
    }
    if (message.request == Request::kMadUnregister) {
        clients_.unregister_agent(connection.fd, message.index);
    } else if (message.text_bytes == sizeof(MadAgent)) {
        MadAgent agent;
        std::memcpy(&agent, message.text, sizeof agent);
        clients_.register_agent(connection.fd, agent);
    }
}

void Daemon::serve_mad(Connection& connection, Message& message, int passed_fd) {
    if (connection.mad_hca == UINT32_MAX || message.text_bytes != kMadTextBytes) {
        message.status = connection.mad_hca == UINT32_MAX ? ENOTCONN : EINVAL;
        message.text_bytes = 0;
        send_mad(connection, message, -1);
        return;
    }
    MadFrame frame;
    std::memcpy(&frame, message.text, sizeof frame);
    const auto* const first = reinterpret_cast<const std::uint8_t*>(message.text) + sizeof frame;
    std::vector<std::uint8_t> mad(first, first + wire::kMadBytes);
    if (message.value > wire::kMadBytes && !read_long(passed_fd, message.value, mad)) {
        message.status = EINVAL;
        send_mad(connection, message, -1);
        return;
    }
    // What RMPP carries ends where its sender says, before the end of a MAD too: whoever gets it
    // takes the rest for records.
    if (message.value >= wire::kRmppOffset + wire::RmppHeader::kBytes) {
        mad.resize(std::min<std::size_t>(mad.size(), message.value));
    }
    clients_.send(connection.fd, frame, std::move(mad), monotonic_ns());
    hand_out_mads();
}

/// A datagram that its receiver has no room for is lost.
void Daemon::send_mad(const Connection& connection, const Message& message, int passed_fd) const {
    if (!rpc_send(connection.fd, message, passed_fd) && errno == EAGAIN) {
        log_warning("lost a MAD for pid {}: it does not take those it has", connection.pid);
    }
}

void Daemon::hand_out_mads() {
    do {
        cm_.run(monotonic_ns());
        next_management_ns_ =
            std::min(management_.run(monotonic_ns()), clients_.run(monotonic_ns()));
        // What was sent in this round may have brought somebody an answer.
    } while (management_.dispatcher().waiting());
    next_management_ns_ = std::min(next_management_ns_, cm_.next_timeout_ns());
    while (auto out = clients_.poll()) {
        const auto found = connections_.find(out->fd);
        if (found == connections_.end()) {
            continue;
        }
        Message message;
        message.request = Request::kMad;
        message.status = out->status;
        message.value = static_cast<std::uint32_t>(out->message.size());
        message.text_bytes = kMadTextBytes;
        std::memcpy(message.text, &out->frame, sizeof out->frame);
        std::memcpy(message.text + sizeof out->frame, out->message.data(),
                    std::min(out->message.size(), wire::kMadBytes));
        const int passed = out->message.size() > wire::kMadBytes ? make_long(out->message) : -1;
        send_mad(*found->second, message, passed);
        if (passed >= 0) {
            close(passed);
        }
    }
    hand_out_cm_events();
}

void Daemon::forget_mads(const Connection& connection) {
    if (connection.uses_cm) {
        cm_.close(connection.fd, monotonic_ns());
        hand_out_mads();
    }
    if (connection.mad_hca != UINT32_MAX) {
        clients_.close(connection.fd, monotonic_ns());
    }
    if (connection.manager_hca != UINT32_MAX && --managers_[connection.manager_hca] == 0) {
        management_.set_is_manager(connection.manager_hca, false, monotonic_ns());
        hand_out_mads();
    }
}

/// How long the daemon may sleep.
int Daemon::wait_ms() const {
    if (!dying_.empty()) {
        return 0;
    }
    const std::uint64_t next = std::min({next_management_ns_, next_trunk_ns_, helpers_.next_ns()});
    if (next == UINT64_MAX) {
        return -1;
    }
    const std::uint64_t now = monotonic_ns();
    if (next <= now) {
        return 0;
    }
    return static_cast<int>(std::min<std::uint64_t>((next - now) / kNsPerMs + 1, INT_MAX));
}

}  // namespace softib::live
