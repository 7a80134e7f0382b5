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
    /// The connection to the daemon, for views that ask it.
    int daemon() const { return fd_; }

    /// Asks the daemon for something of which the status says all. Returns 0 or an errno value.
    template <typename Request>
    int ask(const Request& request) const {
        return live::rpc_ask(fd_, request);
    }
    /// Asks the daemon, for a reply that has texts of the message.
    template <typename Request>
    int ask(const Request& request, live::Message& message, typename Request::Reply& reply) const {
        return live::rpc_ask(fd_, request, message, reply);
    }

  private:
    explicit Observer(FabricRef fabric) : fabric_(std::move(fabric)) {}

    FabricRef fabric_;
    live::Arena arena_;
    int fd_ = -1;
};

/// Whether the fabric is a subnet, with a manager and forwarding tables; the error says that an
/// Ethernet is none.
std::expected<void, std::string> check_subnet(const Observer& observer);

/// Index of a switch by its name; the error lists the switches.
std::expected<std::uint32_t, std::string> find_switch(const live::Arena& arena,
                                                      const std::string& name);

/// Checks a host or a list of hosts; the error lists the hosts.
std::expected<void, std::string> check_hosts(const Observer& observer, const std::string& hosts);

}  // namespace softib::app
