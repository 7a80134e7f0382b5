// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/daemon/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "runtime/daemon/log.h"
#include "runtime/shm/clock.h"
#include "runtime/shm/reclaim.h"
#include "runtime/shm/rpc.h"
#include "runtime/shm/shm_lock.h"

namespace softib::daemon {

namespace {

std::uint64_t tag_of(std::uint64_t kind, int fd) {
    return kind | static_cast<std::uint32_t>(fd);
}

int open_pid(std::uint32_t pid) {
    return static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
}

void close_if_open(int fd) {
    if (fd >= 0) {
        close(fd);
    }
}

std::string error_text(int error) {
    return std::generic_category().message(error);
}

/// Binds a socket in a directory, through the directory's descriptor, so that its path may be long.
bool bind_in(int fd, const std::string& dir) {
    const int dir_fd = open(dir.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0) {
        return false;
    }
    unlinkat(dir_fd, shm::kSocketName, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = fmt::format("/proc/self/fd/{}/{}", dir_fd, shm::kSocketName);
    std::memcpy(address.sun_path, path.c_str(), path.size() + 1);
    const mode_t saved_mask = umask(0077);
    const bool bound = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const int error = errno;
    umask(saved_mask);
    close(dir_fd);
    errno = error;
    return bound;
}

/// Removes the directories of ended processes of an earlier daemon. A process that has outlived
/// that daemon still raises events through its directory, and holds a lock on it.
void remove_dead_directories(const std::string& procs) {
    std::error_code ignored;
    for (const auto& entry : std::filesystem::directory_iterator(procs, ignored)) {
        const int fd = open(entry.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) {
            std::filesystem::remove_all(entry.path(), ignored);
        }
        if (fd >= 0) {
            close(fd);
        }
    }
}

}  // namespace

std::string Daemon::proc_dir(const std::string& dir, shm::Owner owner, std::uint64_t instance) {
    return fmt::format("{}/{}/{}-{}", dir, kProcDirName, owner, instance);
}

Daemon::Daemon(const shm::Arena& arena, const topo::Fabric& fabric, DaemonOptions options)
    : arena_(arena),
      options_(std::move(options)),
      mcast_(arena),
      management_(changed_, arena, events_, fabric, options_.management),
      clients_(changed_, arena, management_.unmarked()),
      cm_(changed_, arena, management_.unmarked(), options_.addresses),
      sharp_(changed_, arena, management_.unmarked()) {
    events_.init(options_.dir, &arena_);
}

Daemon::~Daemon() {
    for (const auto& [fd, connection] : connections_) {
        if (connection->pid_fd >= 0) {
            close(connection->pid_fd);
        }
        close(fd);
    }
    if (listen_fd_ >= 0) {
        close(listen_fd_);
    }
    close_if_open(epoll_fd_);
    close_if_open(spare_fd_);
}

bool Daemon::watch(int fd, std::uint64_t tag) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u64 = tag;
    return epoll_ctl(epoll_fd_, EPOLL_CTL_ADD, fd, &event) == 0;
}

void Daemon::watch_for(const Connection& connection, std::uint32_t events) {
    epoll_event event{};
    event.events = events;
    event.data.u64 = tag_of(kTagConnection, connection.fd);
    epoll_ctl(epoll_fd_, EPOLL_CTL_MOD, connection.fd, &event);
}

std::expected<void, std::string> Daemon::start() {
    const auto failed = [this](const char* what) {
        return std::unexpected(
            fmt::format("cannot {} in {}: {}", what, options_.dir, error_text(errno)));
    };
    const std::string procs = options_.dir + "/" + kProcDirName;
    if (mkdir(procs.c_str(), 0700) != 0 && errno != EEXIST) {
        return failed("make the process directory");
    }
    remove_dead_directories(procs);
    management_.change().start(shm::monotonic_ns());
    spare_fd_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
    epoll_fd_ = epoll_create1(EPOLL_CLOEXEC);
    listen_fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (epoll_fd_ < 0 || listen_fd_ < 0 || !bind_in(listen_fd_, options_.dir) ||
        listen(listen_fd_, SOMAXCONN) != 0) {
        return failed("open the socket");
    }
    if (!watch(listen_fd_, kTagListen) ||
        (options_.signal_fd >= 0 && !watch(options_.signal_fd, kTagEnd)) ||
        (options_.lifeline_fd >= 0 && !watch(options_.lifeline_fd, kTagEnd))) {
        return failed("watch the socket");
    }
    if (auto opened = open_trunks(); !opened) {
        return opened;
    }
    for (const Trunk& trunk : trunks_) {
        if (!watch(trunk.socket->fd(), kTagTrunk)) {
            return failed("watch a trunk");
        }
    }
    return {};
}

void Daemon::run() {
    std::array<epoll_event, 64> events{};
    while (!stopping_) {
        const int n =
            epoll_wait(epoll_fd_, events.data(), static_cast<int>(events.size()), wait_ms());
        if (n < 0 && errno != EINTR) {
            log_error("epoll_wait failed: {}", error_text(errno));
            return;
        }
        for (int i = 0; i < n; ++i) {
            const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
            const int fd = static_cast<int>(static_cast<std::uint32_t>(tag));
            switch (tag & kTagKindMask) {
                case kTagListen:
                    accept_all();
                    break;
                case kTagEnd:
                    stopping_ = true;
                    break;
                case kTagConnection:
                    // An earlier event of this round may have closed the connection.
                    if (const auto found = connections_.find(fd); found != connections_.end()) {
                        serve(*found->second);
                    }
                    break;
                case kTagProcess:
                    drop_if_process_ended(fd);
                    break;
                case kTagHelpers:
                    helpers_.run(shm::monotonic_ns());
                    break;
                default:
                    break;
            }
            settle();
        }
        if (next_management_ns_ != UINT64_MAX && next_management_ns_ <= shm::monotonic_ns()) {
            hand_out_mads();
        }
        if (helpers_.next_ns() <= shm::monotonic_ns()) {
            helpers_.run(shm::monotonic_ns());
        }
        run_trunks();
        settle();
        reclaim_one();
        log_repeats();
    }
}

void Daemon::accept_all() {
    while (true) {
        const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0) {
            accept_one(fd);
            continue;
        }
        if (errno == EINTR || errno == ECONNABORTED) {
            continue;
        }
        if ((errno == EMFILE || errno == ENFILE) && turn_away()) {
            continue;
        }
        if (errno != EAGAIN) {
            log_error("cannot accept a connection: {}", error_text(errno));
        }
        return;
    }
}

/// Refuses a waiting client when there are no descriptors, so that it does not wait forever.
/// Returns false if no client waits.
bool Daemon::turn_away() {
    shm::Message message;
    message.status = errno;
    close_if_open(spare_fd_);
    const int fd = accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const int error = errno;
    if (fd >= 0) {
        log_warning("refused a connection: {}", error_text(message.status));
        rpc_send(fd, message, -1);
        close(fd);
    }
    spare_fd_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
    errno = error;
    return fd >= 0;
}

void Daemon::accept_one(int fd) {
    ucred peer{};
    socklen_t bytes = sizeof peer;
    auto connection = std::make_unique<Connection>();
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 || peer.uid != geteuid()) {
        log_warning("refused pid {}: it runs as uid {}, this fabric belongs to uid {}", peer.pid,
                    peer.uid, geteuid());
        connection->refusal = EPERM;
    }
    if (connections_.size() >= kConnectionsMax || !watch(fd, tag_of(kTagConnection, fd))) {
        log_warning("refused pid {}: {} connections are open, no more are allowed", peer.pid,
                    connections_.size());
        shm::Message message;
        message.status = EUSERS;
        rpc_send(fd, message, -1);
        close(fd);
        return;
    }
    connection->fd = fd;
    connection->pid = static_cast<std::uint32_t>(peer.pid);
    connections_.emplace(fd, std::move(connection));
}

void Daemon::drop(int fd) {
    const auto found = connections_.find(fd);
    if (lives_on(*found->second)) {
        log_warning("pid {} has lost its connection and lives on; it keeps slot {} until it ends",
                    found->second->pid, found->second->owner);
        forget_mads(*found->second);
        epoll_ctl(epoll_fd_, EPOLL_CTL_DEL, fd, nullptr);
        shutdown(fd, SHUT_RDWR);
        return;
    }
    detach(*found->second);
    forget_mads(*found->second);
    close_if_open(found->second->pid_fd);
    close(fd);
    connections_.erase(found);
}

/// Returns whether the process of a connection still maps the arena. Its memory must then not be
/// given to another process, even if the connection is lost. A process that has executed another
/// program no longer maps the arena.
bool Daemon::lives_on(const Connection& connection) const {
    if (connection.owner == 0 || connection.pid_fd < 0) {
        return false;
    }
    pollfd ended{connection.pid_fd, POLLIN, 0};
    if (poll(&ended, 1, 0) != 0) {
        return false;
    }
    struct stat st{};
    fstat(arena_.fd, &st);
    const std::string inode = fmt::format(" {} ", st.st_ino);
    std::ifstream maps(fmt::format("/proc/{}/maps", connection.pid));
    for (std::string line; std::getline(maps, line);) {
        if (line.find(inode) != std::string::npos &&
            line.find("/memfd:softib-arena") != std::string::npos) {
            return true;
        }
    }
    return false;
}

void Daemon::detach(Connection& connection) {
    if (connection.owner == 0) {
        return;
    }
    log_info("pid {} has left slot {}", connection.pid, connection.owner);
    if (arena_.header->carrier.load() == lock_word(arena_, connection.owner)) {
        carrier_ended();
    }
    mcast_.drop_owner(connection.owner);
    dying_.push_back({connection.owner, connection.instance});
    dying_.insert(dying_.end(), quarantined_.begin(), quarantined_.end());
    quarantined_.clear();
    connection.owner = 0;
}

void Daemon::reclaim_one() {
    if (dying_.empty()) {
        return;
    }
    const Ended ended = dying_.front();
    dying_.pop_front();
    std::error_code ignored;
    std::filesystem::remove_all(proc_dir(options_.dir, ended.owner, ended.instance), ignored);
    reclaim(arena_, ended.owner);
    if (arena_.proc(ended.owner).state.load(std::memory_order_acquire) == shm::ProcState::kDead) {
        quarantined_.push_back(ended);
    }
}

/// Closes the connection of a process that has ended. A forked child may keep its parent's
/// connection open, so that only the pidfd shows the end of the parent.
void Daemon::drop_if_process_ended(int fd) {
    const auto found = connections_.find(fd);
    if (found != connections_.end() && found->second->pid_fd >= 0) {
        drop(fd);
    }
}

void Daemon::watch_process(Connection& connection) {
    if (connection.pid_fd >= 0) {
        return;
    }
    connection.pid_fd = open_pid(connection.pid);
    if (connection.pid_fd >= 0) {
        watch(connection.pid_fd, tag_of(kTagProcess, connection.fd));
    }
}

}  // namespace softib::daemon
