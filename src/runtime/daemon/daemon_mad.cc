// SPDX-License-Identifier: BSD-2-Clause
// The daemon's side of MADs: passes MADs between connections and MadClients.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <string_view>
#include <vector>

#include "core/base/time_units.h"
#include "core/wire/mad/rmpp.h"
#include "runtime/daemon/daemon.h"
#include "runtime/daemon/log.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/rpc.h"

namespace softib::daemon {

namespace {

static_assert(shm::kMadPartBytes == wire::kMadBytes);

bool has_hca(const shm::Arena& arena, std::string_view hosts, std::uint32_t hca) {
    std::vector<shm::DeviceEntry> devices(list_devices(arena, hosts, {}));
    list_devices(arena, hosts, devices);
    return std::ranges::any_of(devices, [hca](const shm::DeviceEntry& d) { return d.hca == hca; });
}

/// Reads a message of several MADs from the file that came with its first one. Returns false if the
/// file does not hold it.
bool read_long(int fd, std::uint32_t bytes, std::vector<std::uint8_t>& message) {
    struct stat st{};
    if (fd < 0 || bytes > shm::kMadMessageMax || fstat(fd, &st) != 0 || st.st_size < bytes) {
        return false;
    }
    message.resize(bytes);
    return pread(fd, message.data(), bytes, 0) == static_cast<ssize_t>(bytes);
}

/// Returns a descriptor of a memory file with a message, or -1.
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

int Daemon::handle(Connection& connection, const shm::request::MadOpen& request) {
    if (connection.owner != 0 || connection.mad_hca != UINT32_MAX) {
        return EALREADY;
    }
    if (request.port != 1 || !has_hca(arena_, request.hosts, request.hca)) {
        return ENODEV;
    }
    connection.mad_hca = request.hca;
    clients_.change().open(connection.fd, request.hca);
    return 0;
}

/// Sets the IsSM bit of a port until the connection closes.
int Daemon::handle(Connection& connection, const shm::request::IsManager& request) {
    std::vector<shm::DeviceEntry> devices(list_devices(arena_, request.hosts, {}));
    list_devices(arena_, request.hosts, devices);
    if (connection.owner != 0 || connection.manager_hca != UINT32_MAX) {
        return EALREADY;
    }
    if (request.device >= devices.size()) {
        return ENODEV;
    }
    connection.manager_hca = devices[request.device].hca;
    if (managers_[connection.manager_hca]++ == 0) {
        management_.change().set_is_manager(connection.manager_hca, true, shm::monotonic_ns());
    }
    return 0;
}

int Daemon::handle(Connection& connection, const shm::request::MadRegister& request) {
    if (connection.mad_hca != UINT32_MAX) {
        clients_.change().register_agent(connection.fd, request.agent);
    }
    return 0;
}

int Daemon::handle(Connection& connection, const shm::request::MadUnregister& request) {
    if (connection.mad_hca != UINT32_MAX) {
        clients_.change().unregister_agent(connection.fd, request.agent_id);
    }
    return 0;
}

int Daemon::handle(Connection& connection, const shm::request::Mad& request) {
    if (connection.mad_hca == UINT32_MAX) {
        return ENOTCONN;
    }
    std::vector<std::uint8_t> mad(request.first.begin(), request.first.end());
    if (request.bytes > wire::kMadBytes && !read_long(request.file, request.bytes, mad)) {
        return EINVAL;
    }
    // An RMPP message ends where its sender says, even within a MAD: the receiver would take the
    // rest for records.
    if (request.bytes >= wire::kRmppOffset + wire::RmppHeader::kBytes) {
        mad.resize(std::min<std::size_t>(mad.size(), request.bytes));
    }
    clients_.change().send(connection.fd, request.frame, std::move(mad), shm::monotonic_ns());
    return 0;
}

/// Sends a MAD to a program. The MAD is lost if the program's socket has no room for it.
void Daemon::send_mad(const Connection& connection, const shm::Message& message,
                      int passed_fd) const {
    if (!rpc_send(connection.fd, message, passed_fd) && errno == EAGAIN) {
        log_warning("lost a MAD for pid {}: the program does not read those that wait for it",
                    connection.pid);
    }
}

void Daemon::hand_out_mads() {
    do {
        cm_.unmarked().run(shm::monotonic_ns());
        next_management_ns_ = std::min(management_.unmarked().run(shm::monotonic_ns()),
                                       clients_.unmarked().run(shm::monotonic_ns()));
        next_management_ns_ =
            std::min(next_management_ns_, sharp_.unmarked().follow(shm::monotonic_ns()));
        // What was sent in this round may have caused answers for another part.
    } while (management_.unmarked().dispatcher().waiting());
    next_management_ns_ = std::min(next_management_ns_, cm_->next_timeout_ns());
    while (auto out = clients_.unmarked().poll()) {
        const auto found = connections_.find(out->fd);
        if (found == connections_.end()) {
            continue;
        }
        shm::request::Mad mad{.frame = out->frame,
                              .bytes = static_cast<std::uint32_t>(out->message.size())};
        std::copy_n(out->message.begin(), std::min(out->message.size(), wire::kMadBytes),
                    mad.first.begin());
        shm::Message message;
        to_message(mad, message);
        message.status = out->status;
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
        cm_.change().close(connection.fd, shm::monotonic_ns());
    }
    if (connection.uses_sharp) {
        sharp_.change().close(connection.fd, shm::monotonic_ns());
    }
    if (connection.mad_hca != UINT32_MAX) {
        clients_.change().close(connection.fd, shm::monotonic_ns());
    }
    if (connection.manager_hca != UINT32_MAX && --managers_[connection.manager_hca] == 0) {
        management_.change().set_is_manager(connection.manager_hca, false, shm::monotonic_ns());
    }
}

/// Returns how long the daemon may sleep; -1: until something happens.
int Daemon::wait_ms() const {
    if (!dying_.empty()) {
        return 0;
    }
    const std::uint64_t next = std::min({next_management_ns_, next_trunk_ns_, helpers_.next_ns()});
    if (next == UINT64_MAX) {
        return -1;
    }
    const std::uint64_t now = shm::monotonic_ns();
    if (next <= now) {
        return 0;
    }
    return static_cast<int>(std::min<std::uint64_t>((next - now) / kNsPerMs + 1, INT_MAX));
}

}  // namespace softib::daemon
