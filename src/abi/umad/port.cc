// SPDX-License-Identifier: BSD-2-Clause
// Open ports and their agents. An open port is a connection to the daemon, and its number is the
// connection's descriptor, so that programs can poll it. The library only adds and removes headers
// and knows the agents; the daemon routes MADs, matches responses and handles timeouts.
//
// Thread rule: any thread may send and receive on any port. A MAD is one message on the connection,
// so the kernel keeps them apart. The table of ports has a lock.
#include <endian.h>
#include <fcntl.h>
#include <infiniband/umad.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "abi/umad/fabric.h"
#include "core/wire/mad/mad.h"
#include "runtime/shm/rpc.h"

namespace softib::abi::umad {

namespace {

constexpr std::size_t kPortsMax = 256;  ///< The most ports that a process can have open.
constexpr int kSendWaitMs = 5000;
constexpr std::uint8_t kVendorRange2First = 0x30;
constexpr std::uint8_t kVendorRange2Last = 0x4F;

struct Agent {
    bool used = false;
    umad_reg_attr attr{};
};

struct Port {
    int fd = -1;
    Agent agents[UMAD_CA_MAX_AGENTS];
};

std::mutex g_mutex;
Port g_ports[kPortsMax];

/// Returns an open port; nullptr if there is none. The caller holds g_mutex.
Port* find_port(int fd) {
    Port* const found = std::ranges::find(g_ports, fd, &Port::fd);
    return fd < 0 || found == std::end(g_ports) ? nullptr : found;
}

/// Enters an open port into the table. Returns false if the table is full. An entry with the same
/// descriptor is replaced: the program has closed that port by close().
bool add_port(int fd) {
    const std::lock_guard guard(g_mutex);
    Port* port = find_port(fd);
    if (port == nullptr) {
        port = std::ranges::find(g_ports, -1, &Port::fd);
    }
    if (port == std::end(g_ports)) {
        return false;
    }
    *port = Port{};
    port->fd = fd;
    return true;
}

int connect_port(const Fabric& fabric, std::uint32_t hca) {
    const int fd = shm::rpc_connect(fabric.dir());
    if (fd < 0) {
        return -1;
    }
    int error =
        shm::rpc_ask(fd, shm::request::MadOpen{.hosts = fabric.hosts(), .hca = hca, .port = kPort});
    if (error == 0 && fcntl(fd, F_SETFL, O_NONBLOCK) != 0) {
        error = errno;
    }
    if (error == 0 && !add_port(fd)) {
        error = EMFILE;
    }
    if (error != 0) {
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/// Sends a request, and waits for room in the connection while the daemon is busy. Returns false if
/// that fails.
template <typename Request>
bool send_request(int fd, const Request& request, int passed_fd) {
    shm::Message message;
    if (!shm::to_message(request, message)) {
        return false;
    }
    while (!shm::rpc_send(fd, message, passed_fd)) {
        pollfd room{.fd = fd, .events = POLLOUT, .revents = 0};
        if (errno != EAGAIN || poll(&room, 1, kSendWaitMs) != 1) {
            return false;
        }
    }
    return true;
}

/// Tells the daemon which requests are for this agent.
bool announce(int fd, std::uint32_t id, const umad_reg_attr& attr) {
    shm::MadAgent agent;
    agent.id = id;
    agent.mgmt_class = attr.mgmt_class;
    agent.version = attr.mgmt_class_version;
    agent.rmpp = (attr.flags & UMAD_USER_RMPP) != 0 ? 0 : attr.rmpp_version;
    agent.oui = attr.oui;
    std::memcpy(agent.method_mask, attr.method_mask, sizeof agent.method_mask);
    return send_request(fd, shm::request::MadRegister{.agent = agent}, -1);
}

/// Registers an agent at a port. Returns 0 or an errno value.
int register_agent(int fd, const umad_reg_attr& attr, std::uint32_t& id) {
    const std::lock_guard guard(g_mutex);
    Port* const port = find_port(fd);
    if (port == nullptr) {
        return EINVAL;
    }
    Agent* const agent = std::ranges::find(port->agents, false, &Agent::used);
    if (agent == std::end(port->agents)) {
        return ENOMEM;
    }
    id = static_cast<std::uint32_t>(agent - port->agents);
    if (!announce(fd, id, attr)) {
        return EIO;
    }
    *agent = {.used = true, .attr = attr};
    return 0;
}

/// Registers an agent at a port. Returns its number, or -EPERM with errno set.
int agent_number(int fd, const umad_reg_attr& attr) {
    std::uint32_t id = 0;
    const int error = register_agent(fd, attr, id);
    if (error != 0) {
        errno = error;
        return -EPERM;
    }
    return static_cast<int>(id);
}

bool is_vendor_range2(unsigned mgmt_class) {
    return mgmt_class >= kVendorRange2First && mgmt_class <= kVendorRange2Last;
}

void copy_mask(umad_reg_attr& attr, const long* method_mask) {
    if (method_mask != nullptr) {
        std::memcpy(attr.method_mask, method_mask, sizeof attr.method_mask);
    }
}

bool has_agent(int fd, int agent) {
    const std::lock_guard guard(g_mutex);
    const Port* const port = find_port(fd);
    return port != nullptr && agent >= 0 && agent < UMAD_CA_MAX_AGENTS && port->agents[agent].used;
}

shm::MadFrame frame_of(const ib_user_mad& umad) {
    return {.agent = umad.agent_id,
            .timeout_ms = umad.timeout_ms,
            .retries = umad.retries,
            .remote_qpn = be32toh(umad.addr.qpn),
            .remote_qkey = be32toh(umad.addr.qkey),
            .remote_lid = be16toh(umad.addr.lid),
            .pkey_index = umad.addr.pkey_index,
            .sl = umad.addr.sl,
            .path_bits = umad.addr.path_bits};
}

void fill_from(ib_user_mad& umad, const shm::MadFrame& frame, int status, std::size_t bytes) {
    std::memset(&umad, 0, sizeof umad);
    umad.agent_id = frame.agent;
    umad.status = static_cast<std::uint32_t>(status);
    umad.timeout_ms = frame.timeout_ms;
    umad.retries = frame.retries;
    umad.length = static_cast<std::uint32_t>(sizeof umad + bytes);
    umad.addr.qpn = htobe32(frame.remote_qpn);
    umad.addr.qkey = htobe32(frame.remote_qkey);
    umad.addr.lid = htobe16(frame.remote_lid);
    umad.addr.pkey_index = frame.pkey_index;
    umad.addr.sl = frame.sl;
    umad.addr.path_bits = frame.path_bits;
}

/// A message that did not fit into the program's buffer. The program may ask again with a larger
/// one.
struct Kept {
    int fd = -1;
    int status = 0;
    shm::request::Mad mad;
};
Kept g_kept;  // Guarded by g_mutex. Only the newest is kept, because a program asks again at once.

bool take_kept(int fd, shm::request::Mad& mad, int& status) {
    const std::lock_guard guard(g_mutex);
    if (g_kept.fd != fd) {
        return false;
    }
    mad = g_kept.mad;
    status = g_kept.status;
    g_kept = Kept{};
    return true;
}

void keep(int fd, const shm::request::Mad& mad, int status) {
    const std::lock_guard guard(g_mutex);
    if (g_kept.mad.file >= 0) {
        close(g_kept.mad.file);
    }
    g_kept = {.fd = fd, .status = status, .mad = mad};
}

bool is_kept(int fd) {
    const std::lock_guard guard(g_mutex);
    return g_kept.fd == fd;
}

/// Takes a MAD from the daemon. Returns 0 or an errno value. `status` is not 0 if the MAD is a
/// request of the program that was not answered.
int receive_mad(int fd, shm::request::Mad& mad, int& status) {
    shm::Message message;
    int file = -1;
    if (!shm::rpc_receive(fd, message, &file)) {
        return errno == EAGAIN ? EWOULDBLOCK : EIO;
    }
    if (message.request != shm::request::Mad::kId || !shm::decode(message, mad)) {
        if (file >= 0) {
            close(file);
        }
        return EIO;
    }
    mad.file = file;
    status = message.status;
    return 0;
}

/// Writes a long message to a memfd, which is sent along. Returns its descriptor; -1, with errno
/// set, if that fails.
int long_message(const void* data, std::size_t bytes) {
    const int file = memfd_create("softib-mad", MFD_CLOEXEC);
    if (file >= 0 && pwrite(file, data, bytes, 0) != static_cast<ssize_t>(bytes)) {
        close(file);
        return -1;
    }
    return file;
}

int failed(int error) {
    errno = error;
    return -error;
}

int wait_readable(int fd, int timeout_ms) {
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    const int n = poll(&readable, 1, timeout_ms);
    if (n == 1) {
        return 0;
    }
    return n == 0 ? failed(ETIMEDOUT) : -EIO;
}

}  // namespace

}  // namespace softib::abi::umad

using namespace softib;
using namespace softib::abi::umad;

extern "C" {

int umad_open_port(const char* ca_name, int portnum) {
    const Fabric* fabric = Fabric::get();
    const shm::DeviceEntry* device = fabric == nullptr ? nullptr : fabric->find(ca_name);
    if (device == nullptr) {
        return failed(ENODEV);
    }
    if (portnum != UMAD_ANY_PORT && portnum != kPort) {
        return failed(EINVAL);
    }
    const int fd = connect_port(*fabric, device->hca);
    return fd < 0 ? -EIO : fd;
}

// A function newer than the header that we may be built with; the asm label is the exported name.
int softib_umad_open_smi_port(const char* ca_name, int portnum) __asm__("umad_open_smi_port");

int softib_umad_open_smi_port(const char* ca_name, int portnum) {
    return umad_open_port(ca_name, portnum);
}

int umad_close_port(int fd) {
    const std::lock_guard guard(g_mutex);
    Port* const port = find_port(fd);
    if (port == nullptr) {
        return failed(EINVAL);
    }
    *port = Port{};
    close(fd);
    return 0;
}

int umad_get_fd(int fd) {
    return fd;
}

int umad_poll(int fd, int timeout_ms) {
    return is_kept(fd) ? 0 : wait_readable(fd, timeout_ms);
}

int umad_register(int fd, int mgmt_class, int mgmt_version, uint8_t rmpp_version,
                  long method_mask[16 / sizeof(long)]) {
    umad_reg_attr attr{};
    attr.mgmt_class = static_cast<std::uint8_t>(mgmt_class);
    attr.mgmt_class_version = static_cast<std::uint8_t>(mgmt_version);
    attr.rmpp_version = rmpp_version;
    copy_mask(attr, method_mask);
    return agent_number(fd, attr);
}

int umad_register_oui(int fd, int mgmt_class, uint8_t rmpp_version, uint8_t oui[3],
                      long method_mask[16 / sizeof(long)]) {
    if (mgmt_class < 0 || !is_vendor_range2(static_cast<unsigned>(mgmt_class))) {
        return failed(EINVAL);
    }
    umad_reg_attr attr{};
    attr.mgmt_class = static_cast<std::uint8_t>(mgmt_class);
    attr.mgmt_class_version = 1;
    attr.rmpp_version = rmpp_version;
    attr.oui = std::uint32_t{oui[0]} << 16 | std::uint32_t{oui[1]} << 8 | oui[2];
    copy_mask(attr, method_mask);
    return agent_number(fd, attr);
}

int umad_register2(int fd, umad_reg_attr* attr, uint32_t* agent_id) {
    if (attr == nullptr || agent_id == nullptr) {
        return EINVAL;
    }
    if (is_vendor_range2(attr->mgmt_class) && (attr->oui == 0 || attr->oui > 0xFFFFFF)) {
        return EINVAL;
    }
    if ((attr->flags & ~unsigned{UMAD_USER_RMPP}) != 0) {
        attr->flags = UMAD_USER_RMPP;
        return EINVAL;
    }
    return register_agent(fd, *attr, *agent_id);
}

int umad_unregister(int fd, int agentid) {
    const std::lock_guard guard(g_mutex);
    Port* const port = find_port(fd);
    if (port == nullptr || agentid < 0 || agentid >= UMAD_CA_MAX_AGENTS ||
        !port->agents[agentid].used) {
        errno = EINVAL;
        return -1;
    }
    port->agents[agentid] = Agent{};
    send_request(fd, shm::request::MadUnregister{.agent_id = static_cast<std::uint32_t>(agentid)},
                 -1);
    return 0;
}

int umad_send(int fd, int agentid, void* umad, int length, int timeout_ms, int retries) {
    if (!has_agent(fd, agentid) || umad == nullptr ||
        length < static_cast<int>(wire::kMadHeaderBytes) ||
        length > static_cast<int>(shm::kMadMessageMax)) {
        return failed(EINVAL);
    }
    auto& user = *static_cast<ib_user_mad*>(umad);
    user.agent_id = static_cast<std::uint32_t>(agentid);
    user.timeout_ms = static_cast<std::uint32_t>(timeout_ms);
    user.retries = static_cast<std::uint32_t>(std::max(retries, 0));
    if (umad_debug(-1) > 1) {
        umad_dump(umad);
    }
    shm::MadFrame frame = frame_of(user);
    frame.timeout_ms = timeout_ms < 0 ? shm::kMadForever : user.timeout_ms;
    const auto bytes = static_cast<std::size_t>(length);
    shm::request::Mad mad{.frame = frame, .bytes = static_cast<std::uint32_t>(bytes)};
    std::memcpy(mad.first.data(), user.data, std::min(bytes, wire::kMadBytes));
    int file = -1;
    if (bytes > wire::kMadBytes) {
        file = long_message(user.data, bytes);
        if (file < 0) {
            return failed(ENOMEM);
        }
    }
    const bool sent = send_request(fd, mad, file);
    if (file >= 0) {
        close(file);
    }
    return sent ? 0 : failed(EIO);
}

int umad_recv(int fd, void* umad, int* length, int timeout_ms) {
    if (umad == nullptr || length == nullptr || *length < static_cast<int>(wire::kMadBytes)) {
        return failed(EINVAL);
    }
    shm::request::Mad mad;
    int mad_status = 0;
    if (!take_kept(fd, mad, mad_status)) {
        if (timeout_ms != 0) {
            const int error = wait_readable(fd, timeout_ms);
            if (error != 0) {
                return error;
            }
        }
        if (const int error = receive_mad(fd, mad, mad_status); error != 0) {
            return failed(error);
        }
    }
    // The program gets only the header of a request that was not answered, which identifies it. A
    // message that RMPP has assembled keeps its length, even if it is shorter than a MAD.
    const std::size_t bytes = mad_status != 0 ? wire::kMadHeaderBytes
                              : mad.file >= 0 ? mad.bytes
                                              : std::min<std::size_t>(mad.bytes, wire::kMadBytes);
    auto& user = *static_cast<ib_user_mad*>(umad);
    fill_from(user, mad.frame, mad_status, bytes);
    const auto room = static_cast<std::size_t>(*length);
    *length = static_cast<int>(bytes);
    if (bytes > room) {
        std::memcpy(user.data, mad.first.data(), wire::kMadBytes);
        keep(fd, mad, mad_status);
        return failed(ENOSPC);
    }
    std::memcpy(user.data, mad.first.data(), std::min(bytes, wire::kMadBytes));
    if (mad.file >= 0) {
        const bool whole = bytes <= wire::kMadBytes ||
                           pread(mad.file, user.data, bytes, 0) == static_cast<ssize_t>(bytes);
        close(mad.file);
        if (!whole) {
            return failed(EIO);
        }
    }
    return static_cast<int>(mad.frame.agent);
}

}  // extern "C"
