// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A view of a running fabric: the arena, mapped read-only, and a connection to its daemon.

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "app/fabric/fabric_dir.h"
#include "app/fabric/fabric_state.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/rpc.h"

namespace softib::app {

class Observer {
  public:
    /// Connects to a running fabric and maps its arena. The error says how to get the fabric up.
    static std::expected<Observer, std::string> open(const FabricRef& fabric);
    /// Does the same as open(), with an error that has the fabric's state too.
    static std::expected<Observer, FabricTrouble> look(const FabricRef& fabric);
    /// Does the same for the fabric that find_fabric(name) returns.
    static std::expected<Observer, std::string> open(const std::optional<std::string>& name);

    Observer(Observer&& other) noexcept;
    Observer& operator=(Observer&&) = delete;
    ~Observer();

    const shm::Arena& arena() const { return arena_; }
    const FabricRef& fabric() const { return fabric_; }
    /// Returns the connection to the daemon, for views that ask it.
    int daemon() const { return fd_; }

    /// Sends a request whose reply is a status only. Returns 0 or an errno value.
    template <typename Request>
    int ask(const Request& request) const {
        return shm::rpc_ask(fd_, request);
    }
    /// Sends a request whose reply has fields. Texts in `reply` point into `message`. Returns 0 or
    /// an errno value.
    template <typename Request>
    int ask(const Request& request, shm::Message& message, typename Request::Reply& reply) const {
        return shm::rpc_ask(fd_, request, message, reply);
    }

  private:
    explicit Observer(FabricRef fabric) : fabric_(std::move(fabric)) {}

    FabricRef fabric_;
    shm::Arena arena_;
    int fd_ = -1;
};

/// Checks that the fabric is an InfiniBand subnet, with a manager and forwarding tables. The error
/// says that it is an Ethernet.
std::expected<void, std::string> check_subnet(const Observer& observer);

/// Returns the index of a switch by its name. The error lists the switches.
std::expected<std::uint32_t, std::string> find_switch(const shm::Arena& arena,
                                                      const std::string& name);

/// Checks that hosts, separated by commas, exist. The error lists the hosts that there are.
std::expected<void, std::string> check_hosts(const Observer& observer, const std::string& hosts);

}  // namespace softib::app
