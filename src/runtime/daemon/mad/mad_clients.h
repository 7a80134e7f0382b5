// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Programs that send and receive MADs. MadClients does for them what the kernel's MAD layer does:
// it passes an answer to the program that asked, and a request to the program that registered for
// its class. It returns a request that is not answered in time to its sender, and sends messages
// longer than a MAD by RMPP.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/mad/rmpp_endpoint.h"
#include "runtime/daemon/management.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/requests.h"

namespace softib::daemon {

inline constexpr std::size_t kMadsWaitingMax = 1024;  ///< Unanswered MADs of one connection.
inline constexpr std::size_t kMadAgentsMax = 64;      ///< Agents of one connection.

class MadClients {
  public:
    /// Registers as the service that gets what no other service of the hosts takes.
    MadClients(const shm::Arena& arena, Management& management)
        : arena_(arena), management_(management), service_(management.add_host_service({})) {}

    void open(int fd, std::uint32_t hca);
    void close(int fd, std::uint64_t now_ns);
    bool is_open(int fd) const { return clients_.contains(fd); }
    void register_agent(int fd, const shm::MadAgent& agent);
    void unregister_agent(int fd, std::uint32_t id);

    /// Sends a message of a program: a MAD, or more than one if its agent uses RMPP.
    void send(int fd, const shm::MadFrame& frame, std::vector<std::uint8_t> message,
              std::uint64_t now_ns);

    /// Takes MADs that arrived, and does what is due: repeats requests or gives them up. Returns
    /// the time at which it must be called again.
    std::uint64_t run(std::uint64_t now_ns);

    /// A message for the program with this connection.
    struct Outgoing {
        int fd;
        int status;  ///< 0, ETIMEDOUT, ENOBUFS or EINVAL, as in request::Mad.
        shm::MadFrame frame;
        std::vector<std::uint8_t> message;
    };
    /// Returns the next message for a program, or std::nullopt if there is none.
    std::optional<Outgoing> poll();

  private:
    struct Client {
        std::uint32_t hca = 0;
        std::map<std::uint32_t, shm::MadAgent> agents;
        std::size_t waiting = 0;
    };
    /// A request that waits for its answer.
    struct Waiting {
        int fd;
        shm::MadFrame frame;
        std::vector<std::uint8_t> message;  ///< As the program gave it.
        std::uint64_t deadline_ns;
        std::uint32_t retries_left;
    };

    /// Returns the agent on an HCA that has registered for a request, and its connection in `fd`;
    /// nullptr if there is none.
    const shm::MadAgent* find_agent(std::uint32_t hca, const std::vector<std::uint8_t>& message,
                                    int& fd) const;
    /// Returns whether an agent on an HCA uses RMPP for a class.
    bool uses_rmpp(std::uint32_t hca, std::uint8_t mgmt_class) const;
    void transmit(std::uint32_t hca, const shm::MadFrame& frame,
                  const std::vector<std::uint8_t>& message, bool by_rmpp, std::uint64_t now_ns);
    void arrived(std::uint32_t hca, const mad::Packet& packet, std::uint64_t now_ns);
    void dispatch(std::uint32_t hca, const shm::MadFrame& from, std::vector<std::uint8_t> message,
                  std::uint64_t now_ns);
    bool take_deliveries(std::uint64_t now_ns);
    bool pump_rmpp(std::uint64_t now_ns);
    /// Returns a waiting request to its program with this status.
    void give_up(agent::MadToken token, int status);
    std::uint16_t pkey_index(std::uint32_t hca, PKey pkey) const;

    const shm::Arena& arena_;
    Management& management_;
    agent::MadToken service_;
    std::unordered_map<int, Client> clients_;
    std::unordered_map<agent::MadToken, Waiting> waiting_;
    std::multimap<std::uint64_t, agent::MadToken> deadlines_;
    std::map<std::uint32_t, mad::RmppEndpoint> rmpp_;  ///< By HCA.
    std::vector<Outgoing> out_;
    std::size_t out_taken_ = 0;
};

}  // namespace softib::daemon
