// SPDX-License-Identifier: BSD-2-Clause
#include "server/controls.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/shm/rpc.h"

namespace softib::server {

namespace {

constexpr char kPartitionsFile[] = "partitions.conf";
constexpr timeval kDaemonPatience{10, 0};

/// A connection to the daemon for one request.
class Connection {
  public:
    explicit Connection(const std::string& dir) : fd_(live::rpc_connect(dir.c_str())) {
        if (fd_ >= 0) {
            setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &kDaemonPatience, sizeof kDaemonPatience);
            setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &kDaemonPatience, sizeof kDaemonPatience);
        }
    }
    Connection(const Connection&) = delete;
    ~Connection() {
        if (fd_ >= 0) {
            close(fd_);
        }
    }
    int fd() const { return fd_; }

  private:
    int fd_;
};

template <typename Request>
Controls::Done ask(const std::string& dir, const Request& request, const std::string& what) {
    const Connection daemon(dir);
    const int error = daemon.fd() < 0 ? errno : live::rpc_ask(daemon.fd(), request);
    if (error == 0) {
        return {};
    }
    return std::unexpected(error == ENOENT
                               ? fmt::format("{} is not in this fabric", what)
                               : fmt::format("softibd refuses: {}", std::strerror(error)));
}

}  // namespace

Controls::Done DaemonControls::set_link(const std::string& node, std::uint8_t port, bool up) {
    return ask(dir_, live::request::SetLink{.node = node, .port = port, .up = up},
               fmt::format("a cable at {}:{}", node, port));
}

Controls::Done DaemonControls::set_switch(const std::string& name, bool on) {
    return ask(dir_, live::request::SetPower{.switch_name = name, .on = on}, "switch " + name);
}

std::string DaemonControls::partitions() {
    std::ifstream in(dir_ + "/" + kPartitionsFile, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

Controls::Done DaemonControls::set_partitions(const std::string& text) {
    const std::string path = dir_ + "/" + kPartitionsFile;
    const std::string before = partitions();
    const auto write = [&](const std::string& contents) {
        std::ofstream out(path + ".new", std::ios::binary | std::ios::trunc);
        out << contents;
        out.close();
        return out && std::rename((path + ".new").c_str(), path.c_str()) == 0;
    };
    if (!write(text)) {
        return std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    }
    const Connection daemon(dir_);
    live::Message message;
    live::request::ReloadPartitions::Reply reply;
    const int error =
        daemon.fd() < 0
            ? errno
            : live::rpc_ask(daemon.fd(), live::request::ReloadPartitions{}, message, reply);
    if (error == 0 && reply.error.empty()) {
        return {};
    }
    write(before);
    return std::unexpected(
        error == 0        ? std::string(reply.error)
        : error == ENOENT ? std::string("this fabric has another subnet manager than ours; change "
                                        "its partitions there")
                          : fmt::format("softibd refuses: {}", std::strerror(error)));
}

Controls::Done DaemonControls::resweep() {
    const Connection daemon(dir_);
    live::Message message;
    live::request::Manager::Reply reply;
    const int error =
        daemon.fd() < 0
            ? errno
            : live::rpc_ask(daemon.fd(),
                            live::request::Manager{.command = live::ManagerCommand::kResweep},
                            message, reply);
    return error == 0 ? Done{}
                      : std::unexpected(fmt::format("softibd refuses: {}", std::strerror(error)));
}

}  // namespace softib::server
