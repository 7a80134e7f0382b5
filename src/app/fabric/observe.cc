// SPDX-License-Identifier: BSD-2-Clause
#include "app/fabric/observe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "app/fabric/launch.h"
#include "runtime/shm/naming.h"

namespace softib::app {

namespace {

constexpr std::size_t kNamesShown = 8;

template <typename Record>
std::string some_names(const Record* records, std::uint32_t count) {
    std::vector<std::string> names;
    for (std::uint32_t i = 0; i < count && i < kNamesShown; ++i) {
        names.emplace_back(records[i].name);
    }
    std::string text = fmt::format("{}", fmt::join(names, ", "));
    if (count > kNamesShown) {
        text += fmt::format(", … {}", records[count - 1].name);
    }
    return text;
}

}  // namespace

std::expected<Observer, std::string> Observer::open(const std::optional<std::string>& name) {
    const auto fabric = find_fabric(name);
    return fabric ? open(*fabric) : std::unexpected(fabric.error());
}

Observer::Observer(Observer&& other) noexcept
    : fabric_(std::move(other.fabric_)),
      arena_(std::exchange(other.arena_, shm::Arena{})),
      fd_(std::exchange(other.fd_, -1)) {}

Observer::~Observer() {
    if (arena_.base != nullptr) {
        shm::arena_unmap(arena_);
    }
    if (fd_ >= 0) {
        close(fd_);
    }
}

std::expected<Observer, std::string> Observer::open(const FabricRef& fabric) {
    auto observer = look(fabric);
    return observer ? std::expected<Observer, std::string>(std::move(*observer))
                    : std::unexpected(observer.error().sentence());
}

std::expected<Observer, FabricTrouble> Observer::look(const FabricRef& fabric) {
    if (FabricTrouble known = look_at_daemon(fabric); known.state != FabricState::kUp) {
        return std::unexpected(std::move(known));
    }
    Observer observer(fabric);
    observer.fd_ = connect_daemon(fabric);
    shm::Message message;
    shm::request::OneFile arena;
    if (observer.fd_ < 0 || !shm::rpc_call(observer.fd_, shm::request::Observe{}, message, arena)) {
        return std::unexpected(explain(fabric, errno, false));
    }
    if (message.status != 0) {
        return std::unexpected(explain(fabric, message.status, true));
    }
    observer.arena_ = shm::arena_map(arena.file, false);
    if (observer.arena_.base == nullptr) {
        const int error = errno;
        close(arena.file);
        if (error == EPROTO) {
            return std::unexpected(explain(fabric, error, true));
        }
        return std::unexpected(FabricTrouble{FabricState::kUnreachable,
                                             fmt::format("cannot map the arena of fabric '{}': {}",
                                                         fabric.name, std::strerror(error)),
                                             ""});
    }
    return observer;
}

std::expected<void, std::string> check_subnet(const Observer& observer) {
    if (observer.arena().header->link_layer != hca::LinkLayer::kEthernet) {
        return {};
    }
    return std::unexpected(fmt::format(
        "fabric '{}' is an Ethernet (--link-layer ethernet): it has no subnet manager and no "
        "forwarding tables; the network of this machine carries its packets",
        observer.fabric().name));
}

std::expected<std::uint32_t, std::string> find_switch(const shm::Arena& arena,
                                                      const std::string& name) {
    for (std::uint32_t i = 0; i < arena.header->switches; ++i) {
        if (name == arena.switches[i].name) {
            return i;
        }
    }
    return std::unexpected(fmt::format("no switch '{}' in fabric '{}'; it has {}", name,
                                       arena.header->fabric_name,
                                       some_names(arena.switches, arena.header->switches)));
}

std::expected<void, std::string> check_hosts(const Observer& observer, const std::string& hosts) {
    const shm::Arena& arena = observer.arena();
    if (shm::list_devices(arena, hosts, {}) != 0) {
        return {};
    }
    return std::unexpected(fmt::format("no host '{}' in fabric '{}'; it has {}", hosts,
                                       observer.fabric().name,
                                       some_names(arena.hosts, arena.header->hosts)));
}

}  // namespace softib::app
