// SPDX-License-Identifier: BSD-2-Clause
#include "app/observe.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "app/launch.h"
#include "runtime/shm/naming.h"
#include "runtime/shm/rpc.h"

namespace softib::app {

namespace {

constexpr std::size_t kNamesShown = 8;
constexpr std::uint32_t kRouteTriesMax = 5;

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

/// Counts the entries in use in the batches that belong to a process.
template <typename Entry, typename InUse>
std::uint32_t count_entries(const std::atomic<live::Owner>* batches, const Entry* entries,
                            std::uint32_t entries_max, live::Owner owner, InUse in_use) {
    std::uint32_t count = 0;
    for (std::uint32_t b = 0; b < entries_max / live::kBatchEntries; ++b) {
        if (batches[b].load(std::memory_order_relaxed) != owner) {
            continue;
        }
        for (std::uint32_t i = 0; i < live::kBatchEntries; ++i) {
            if (in_use(entries[b * live::kBatchEntries + i])) {
                ++count;
            }
        }
    }
    return count;
}

}  // namespace

std::expected<Observer, std::string> Observer::open(const std::optional<std::string>& name) {
    const auto fabric = find_fabric(name);
    return fabric ? open(*fabric) : std::unexpected(fabric.error());
}

Observer::Observer(Observer&& other) noexcept
    : fabric_(std::move(other.fabric_)),
      arena_(std::exchange(other.arena_, live::Arena{})),
      fd_(std::exchange(other.fd_, -1)) {}

Observer::~Observer() {
    if (arena_.base != nullptr) {
        live::arena_unmap(arena_);
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
    live::Message message;
    message.request = live::Request::kObserve;
    int arena_fd = -1;
    if (observer.fd_ < 0 || !live::rpc_call(observer.fd_, message, &arena_fd)) {
        return std::unexpected(explain(fabric, errno, false));
    }
    if (message.status != 0) {
        return std::unexpected(explain(fabric, message.status, true));
    }
    observer.arena_ = live::arena_map(arena_fd, false);
    if (observer.arena_.base == nullptr) {
        const int error = errno;
        close(arena_fd);
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

int Observer::ask(live::Message& message) const {
    return live::rpc_call(fd_, message, nullptr) ? message.status : errno;
}

int Observer::ask(live::Message& message, int& passed_fd) const {
    return live::rpc_call(fd_, message, &passed_fd) ? message.status : errno;
}

std::vector<Program> programs(const live::Arena& arena) {
    std::vector<Program> found;
    for (std::uint32_t i = 0; i < live::procs_used(arena); ++i) {
        const live::ProcSlot& slot = arena.procs[i];
        const live::ProcState state = slot.state.load(std::memory_order_acquire);
        if (state != live::ProcState::kLive && state != live::ProcState::kAttaching) {
            continue;
        }
        Program program;
        program.owner = static_cast<live::Owner>(i + 1);
        program.pid = slot.pid;
        program.command.assign(slot.command, strnlen(slot.command, sizeof slot.command));
        if (slot.host_first < arena.header->hosts) {
            program.host = arena.hosts[slot.host_first].name;
        }
        found.push_back(std::move(program));
    }
    return found;
}

Holdings holdings(const live::Arena& arena, live::Owner owner) {
    Holdings held;
    held.qps = count_entries(arena.qp_batches, arena.qps, live::kQpsMax, owner,
                             [=](const live::QpShared& qp) { return qp.owner == owner; });
    held.cqs = count_entries(arena.cq_batches, arena.cqs, live::kCqsMax, owner,
                             [=](const live::CqShared& cq) { return cq.owner == owner; });
    held.srqs = count_entries(
        arena.srq_batches, arena.srqs, live::kSrqsMax, owner,
        [=](const live::SrqShared& srq) { return srq.live.load(std::memory_order_relaxed) != 0; });
    held.mrs = count_entries(
        arena.mr_batches, arena.mrs, live::kMrsMax, owner,
        [=](const live::MrShared& mr) { return mr.key.load(std::memory_order_relaxed) != 0; });
    return held;
}

std::string node_name(const live::Arena& arena, const live::NodeRef& node) {
    if (node.kind == live::NodeRef::kSwitch && node.index < arena.header->switches) {
        return arena.switches[node.index].name;
    }
    if (node.kind == live::NodeRef::kHca && node.index < arena.header->hcas) {
        const live::HcaRecord& hca = arena.hcas[node.index];
        return fmt::format("{}/{}", arena.hosts[hca.host].name, hca.name);
    }
    return "-";
}

std::string node_name(const live::Arena& arena, Lid lid) {
    return lid.value < live::kLftEntries ? node_name(arena, arena.lid_owner[lid.value]) : "-";
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

std::expected<live::Routes, std::string> read_routes(const Observer& observer) {
    const live::Arena& arena = observer.arena();
    if (arena.header->switches == 0) {
        return std::unexpected("this fabric has no switches: nothing is routed");
    }
    std::expected<live::Routes, std::string> routes;
    for (std::uint32_t tries = 0; tries < kRouteTriesMax; ++tries) {
        const std::uint64_t before = arena.header->route_generation.load();
        live::Message message;
        message.request = live::Request::kRoutes;
        int fd = -1;
        if (const int error = observer.ask(message, fd); error != 0 || fd < 0) {
            return std::unexpected(
                fmt::format("softibd does not tell its routes: {}", std::strerror(error)));
        }
        auto file = live::read_routes(fd);
        close(fd);
        if (!file) {
            return std::unexpected(fmt::format("cannot read the routes: {}", file.error()));
        }
        routes = live::join_routes(arena, std::move(*file));
        if (arena.header->route_generation.load() == before) {
            break;  // Else half of what we have is of before a change.
        }
    }
    return routes;
}

std::expected<std::uint32_t, std::string> find_switch(const live::Arena& arena,
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
    const live::Arena& arena = observer.arena();
    if (live::list_devices(arena, hosts, {}) != 0) {
        return {};
    }
    return std::unexpected(fmt::format("no host '{}' in fabric '{}'; it has {}", hosts,
                                       observer.fabric().name,
                                       some_names(arena.hosts, arena.header->hosts)));
}

const char* to_string(PortState state) {
    switch (state) {
        case PortState::kDown:
            return "Down";
        case PortState::kInit:
            return "Init";
        case PortState::kArmed:
            return "Armed";
        case PortState::kActive:
            return "Active";
        case PortState::kActiveDefer:
            return "ActiveDefer";
        case PortState::kNoChange:
            break;
    }
    return "Nop";
}

}  // namespace softib::app
