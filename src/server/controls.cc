// SPDX-License-Identifier: BSD-2-Clause
#include "server/controls.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>

#include "runtime/shm/rpc.h"
#include "server/connection.h"
#include "server/mapped_arena.h"
#include "view/paths.h"

namespace softib::server {

namespace {

constexpr char kPartitionsFile[] = "partitions.conf";

template <typename Request>
Controls::Done ask(const std::string& dir, const Request& request, const std::string& what) {
    const Connection daemon(dir);
    const int error = daemon.fd() < 0 ? errno : shm::rpc_ask(daemon.fd(), request);
    if (error == 0) {
        return {};
    }
    return std::unexpected(error == ENOENT
                               ? fmt::format("{} is not in this fabric", what)
                               : fmt::format("softibd refuses: {}", std::strerror(error)));
}

}  // namespace

Controls::Done DaemonControls::set_link(const std::string& node, std::uint8_t port, bool up) {
    return ask(dir_, shm::request::SetLink{.node = node, .port = port, .up = up},
               fmt::format("a cable at {}:{}", node, port));
}

Controls::Done DaemonControls::set_switch(const std::string& name, bool on) {
    return ask(dir_, shm::request::SetPower{.switch_name = name, .on = on}, "switch " + name);
}

Controls::Done DaemonControls::set_route(const std::string& switch_name, Lid lid,
                                         std::optional<std::uint8_t> port) {
    std::optional<shm::NodeRef> node;
    {
        const Connection daemon(dir_);
        const auto arena = MappedArena::open(daemon);
        if (!arena) {
            return std::unexpected(arena.error());
        }
        node = view::find_node(**arena, switch_name);
        if (!node || node->kind != shm::NodeRef::kSwitch) {
            return std::unexpected(fmt::format("no switch '{}' in this fabric", switch_name));
        }
        const std::uint32_t lid_max = (*arena)->header->lid_max;
        const std::uint16_t ports = (*arena)->switches[node->index].port_count;
        if (lid.value == 0 || lid.value > lid_max || (port && *port >= ports)) {
            return std::unexpected(
                fmt::format("lid must be 1 to {}, and port 0 to {} or null", lid_max, ports - 1));
        }
    }
    return ask(dir_,
               shm::request::SetRoute{.switch_index = node->index,
                                      .lid = lid,
                                      .port = port.value_or(shm::request::SetRoute::kRemove)},
               "this entry");
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
    shm::Message message;
    shm::request::ReloadPartitions::Reply reply;
    const int error = daemon.fd() < 0 ? errno
                                      : shm::rpc_ask(daemon.fd(), shm::request::ReloadPartitions{},
                                                     message, reply);
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
    shm::Message message;
    shm::request::Manager::Reply reply;
    const int error =
        daemon.fd() < 0
            ? errno
            : shm::rpc_ask(daemon.fd(),
                           shm::request::Manager{.command = shm::ManagerCommand::kResweep}, message,
                           reply);
    return error == 0 ? Done{}
                      : std::unexpected(fmt::format("softibd refuses: {}", std::strerror(error)));
}

}  // namespace softib::server
