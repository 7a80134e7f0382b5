// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A port that sends and receives MADs through libibumad. That is the distribution's library on a
// machine with an HCA, or softib's where `softib exec` puts it first in the library path.
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

/// A management class that a program sends, and the methods of it that the program answers.
struct Agent {
    std::uint8_t mgmt_class = 0;
    std::uint8_t version = 1;
    std::vector<wire::Method> methods{};  ///< Empty: the program only sends requests.
    std::uint32_t oui = 0;                ///< The vendor's OUI, for a vendor class.
    bool whole_messages = false;          ///< Let libibumad do RMPP: see receive_message().
};

class Port {
  public:
    Port();
    ~Port();
    Port(const Port&) = delete;
    Port& operator=(const Port&) = delete;

    /// Opens a port. An empty device name means the first HCA with a cable; number 0 means the
    /// HCA's first port with a cable.
    std::expected<void, std::string> open(const std::string& device, int port);
    /// Registers the classes that this program sends and answers. Returns false if another program
    /// answers one of them.
    bool add_agents(const std::vector<Agent>& agents);
    /// Sets the port's IsSM capability bit, until this object is destroyed.
    std::expected<void, std::string> claim_manager();

    Guid guid() const;
    struct Lids {
        Lid own{};
        Lid subnet_manager{};  ///< PortInfo:MasterSMLID.
    };
    Lids lids() const;  ///< Reads the port's LIDs as they are now.
    std::uint8_t number() const { return static_cast<std::uint8_t>(port_.portnum); }
    std::string name() const;  ///< "mlx5_0 port 1"
    int fd() const { return umad_get_fd(id_); }

    /// Sends a MAD of a class that was added. It returns at once; libibumad waits for the response
    /// to a request.
    void send(const mad::Packet& packet);
    /// Returns the next MAD. Returns std::nullopt with `any` false if there is none now, and with
    /// `any` true if a request of ours came back unanswered.
    std::optional<mad::Packet> receive(bool& any);
    /// A message of one or more MADs (RMPP).
    struct Message {
        mad::Packet first{};                ///< The first MAD, as receive() would return it.
        std::vector<std::uint8_t> bytes{};  ///< The whole message, with its first header.
    };
    /// Returns the next message, as receive() does, but of any length.
    std::optional<Message> receive_message(bool& any);

  private:
    int pkey_index(PKey pkey) const;

    umad_port_t port_{};
    bool known_ = false;
    int id_ = -1;
    int issm_ = -1;
    std::map<std::uint8_t, std::uint32_t> agents_;  ///< Ids of libibumad's agents, by class.
    std::vector<std::uint8_t> buffer_;
};

}  // namespace softib::umad
