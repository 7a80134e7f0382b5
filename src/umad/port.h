// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A port that sends and receives MADs through libibumad: the distribution's on a machine with an
// HCA, or ours where `softib exec` puts it first.
//
// Thread rule: one thread.

#include <infiniband/umad.h>

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/mad/packet.h"

namespace softib::umad {

/// A management class that a program sends, and the requests of it that it takes.
struct Agent {
    std::uint8_t mgmt_class = 0;
    std::uint8_t version = 1;
    std::vector<wire::Method> methods{};  ///< None: it only asks.
    std::uint32_t oui = 0;                ///< Of a vendor's class.
    bool whole_messages = false;          ///< RMPP is done for it: see receive_message().
};

class Port {
  public:
    Port();
    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    /// Opens a port. An empty name means the first HCA with a cable, number 0 its first such port.
    std::expected<void, std::string> open(const std::string& device, int port);
    /// Returns false if another program has one of these classes.
    bool add_agents(const std::vector<Agent>& agents);
    /// Sets the port's IsSM bit until the end.
    std::expected<void, std::string> claim_manager();

    Guid guid() const;
    struct Lids {
        Lid own{};
        Lid subnet_manager{};  ///< PortInfo:MasterSMLID.
    };
    Lids lids() const;  ///< As they are now.
    std::uint8_t number() const { return static_cast<std::uint8_t>(port_.portnum); }
    std::string name() const;  ///< "mlx5_0 port 1"
    int fd() const { return umad_get_fd(id_); }

    /// Sends a packet of a class that was added. A request that wants an answer waits for it.
    void send(const mad::Packet& packet);
    /// Returns the next packet; std::nullopt if there is none now (`any` is false then), or if a
    /// request of ours came back unanswered.
    std::optional<mad::Packet> receive(bool& any);
    /// The same, of any length.
    struct Message {
        mad::Packet first{};  ///< As receive() would return it.
        std::vector<std::uint8_t> bytes{};
    };
    std::optional<Message> receive_message(bool& any);

  private:
    int pkey_index(PKey pkey) const;

    umad_port_t port_{};
    bool known_ = false;
    int id_ = -1;
    int issm_ = -1;
    std::map<std::uint8_t, std::uint32_t> agents_;  ///< By class.
    std::vector<std::uint8_t> buffer_;
};

}  // namespace softib::umad
