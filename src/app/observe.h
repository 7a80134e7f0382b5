// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A view of a running fabric: the arena, mapped read-only, and a connection to its daemon.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "app/fabric_dir.h"
#include "app/fabric_state.h"
#include "runtime/daemon/routes.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/protocol.h"

namespace softib::app {

class Observer {
  public:
    /// The error says how to get the fabric up.
    static std::expected<Observer, std::string> open(const FabricRef& fabric);
    /// The same, and what to say of a fabric that cannot be looked at.
    static std::expected<Observer, FabricTrouble> look(const FabricRef& fabric);
    /// The same by name; without a name, the fabric that commands take then.
    static std::expected<Observer, std::string> open(const std::optional<std::string>& name);

    Observer(Observer&& other) noexcept;
    Observer& operator=(Observer&&) = delete;
    ~Observer();

    const live::Arena& arena() const { return arena_; }
    const FabricRef& fabric() const { return fabric_; }

    /// Sends a request; 0 or the errno value that came back.
    int ask(live::Message& message) const;
    /// The same for an answer that comes with a descriptor.
    int ask(live::Message& message, int& passed_fd) const;

  private:
    explicit Observer(FabricRef fabric) : fabric_(std::move(fabric)) {}

    FabricRef fabric_;
    live::Arena arena_;
    int fd_ = -1;
};

/// What an attached process holds.
struct Program {
    live::Owner owner = 0;
    std::uint32_t pid = 0;
    std::string command;
    std::string host;
};
struct Holdings {
    std::uint32_t qps = 0;
    std::uint32_t cqs = 0;
    std::uint32_t srqs = 0;
    std::uint32_t mrs = 0;
};

std::vector<Program> programs(const live::Arena& arena);
Holdings holdings(const live::Arena& arena, live::Owner owner);

/// "leaf0 port 3", "h0/mlx5_0", or "-".
std::string node_name(const live::Arena& arena, const live::NodeRef& node);

/// The node that has a LID: "leaf0", "h0/mlx5_0", or "-".
std::string node_name(const live::Arena& arena, Lid lid);

/// Whether the fabric is a subnet, with a manager and forwarding tables; the error says that an
/// Ethernet is none.
std::expected<void, std::string> check_subnet(const Observer& observer);

/// How packets go now. The error is for the user.
std::expected<live::Routes, std::string> read_routes(const Observer& observer);

/// Index of a switch by its name; the error lists the switches.
std::expected<std::uint32_t, std::string> find_switch(const live::Arena& arena,
                                                      const std::string& name);

/// Checks a host or a list of hosts; the error lists the hosts.
std::expected<void, std::string> check_hosts(const Observer& observer, const std::string& hosts);

const char* to_string(PortState state);

}  // namespace softib::app
