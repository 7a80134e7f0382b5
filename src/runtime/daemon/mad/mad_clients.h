// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Programs that send and receive MADs, and what the kernel's MAD layer does for them: answers find
// who asked, requests find who registered for their class, what nobody answers comes back when its
// time is over, and messages longer than a MAD travel by the reliable multi-packet protocol.

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

namespace softib::live {

inline constexpr std::size_t kMadsWaitingMax = 1024;  ///< MADs of one connection without answer.
inline constexpr std::size_t kMadAgentsMax = 64;      ///< Of one connection.

class MadClients {
  public:
    /// Programs get what no service of the hosts takes.
    MadClients(const Arena& arena, Management& management)
        : arena_(arena), management_(management), service_(management.add_host_service({})) {}

    void open(int fd, std::uint32_t hca);
    void close(int fd, std::uint64_t now_ns);
    bool is_open(int fd) const { return clients_.contains(fd); }
    void register_agent(int fd, const MadAgent& agent);
    void unregister_agent(int fd, std::uint32_t id);

    /// A message of a program: 256 bytes or, if its agent uses the multi-packet protocol, more.
    void send(int fd, const MadFrame& frame, std::vector<std::uint8_t> message,
              std::uint64_t now_ns);

    /// Takes what arrived, repeats and gives up what is due; returns when it is wanted again.
    std::uint64_t run(std::uint64_t now_ns);

    struct Outgoing {
        int fd;
        int status;  ///< 0, ETIMEDOUT or ENOBUFS.
        MadFrame frame;
        std::vector<std::uint8_t> message;
    };
    /// What a program is to get.
    std::optional<Outgoing> poll();

  private:
    struct Client {
        std::uint32_t hca = 0;
        std::map<std::uint32_t, MadAgent> agents;
        std::size_t waiting = 0;
    };
    struct Waiting {
        int fd;
        MadFrame frame;
        std::vector<std::uint8_t> message;  ///< As the program gave it.
        std::uint64_t deadline_ns;
        std::uint32_t retries_left;
    };

    const MadAgent* find_agent(std::uint32_t hca, const std::vector<std::uint8_t>& message,
                               int& fd) const;
    bool uses_rmpp(std::uint32_t hca, std::uint8_t mgmt_class) const;
    void transmit(std::uint32_t hca, const MadFrame& frame,
                  const std::vector<std::uint8_t>& message, bool by_rmpp, std::uint64_t now_ns);
    void arrived(std::uint32_t hca, const mad::Packet& packet, std::uint64_t now_ns);
    void dispatch(std::uint32_t hca, const MadFrame& from, std::vector<std::uint8_t> message,
                  std::uint64_t now_ns);
    bool take_deliveries(std::uint64_t now_ns);
    bool pump_rmpp(std::uint64_t now_ns);
    void give_up(agent::MadToken token, int status);
    std::uint16_t pkey_index(std::uint32_t hca, PKey pkey) const;

    const Arena& arena_;
    Management& management_;
    agent::MadToken service_;
    std::unordered_map<int, Client> clients_;
    std::unordered_map<agent::MadToken, Waiting> waiting_;
    std::multimap<std::uint64_t, agent::MadToken> deadlines_;
    std::map<std::uint32_t, mad::RmppEndpoint> rmpp_;  ///< By HCA.
    std::vector<Outgoing> out_;
    std::size_t out_taken_ = 0;
};

}  // namespace softib::live
