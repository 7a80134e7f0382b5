// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A queue pair for datagrams by which two ends of a connection-to-be tell each other where their
// own queue pairs are: NCCL carries one handle from the listener to the connector, and the rest
// goes over the fabric itself, without a socket. Datagrams may be lost; who waits says it again.
//
// Thread rule: one thread at a time.

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "abi/nccl/device.h"

namespace softib::abi::nccl {

/// Where a queue pair is.
struct Address {
    ibv_gid gid;
    std::uint32_t qpn;
    std::uint16_t lid;
    std::uint8_t mtu;
    std::uint8_t global;  ///< Reached by its GID (RoCE).
};

Address address_of(const Device& device, std::uint32_t qpn);
/// The address vector towards a port.
ibv_ah_attr route_to(const Device& device, const Address& to);

struct Letter {
    static constexpr std::uint32_t kRequest = 0x73527131;
    static constexpr std::uint32_t kReply = 0x73527031;

    std::uint32_t kind;
    std::uint32_t fifo_rkey;
    std::uint64_t token;  ///< Of the listener: letters to another one are not read.
    std::uint64_t fifo_at;
    Address connection;  ///< The sender's queue pair that is to be connected.
    Address mailbox;     ///< To answer to.
};

class Mailbox {
  public:
    explicit Mailbox(const Device& device);
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    bool works() const { return ready_; }
    Address address() const;
    bool send(const Address& to, const Letter& letter);
    std::optional<Letter> receive();

  private:
    static constexpr int kSlots = 8;
    static constexpr std::uint32_t kGrhBytes = 40;
    struct Slot {
        std::uint8_t grh[kGrhBytes];
        Letter letter;
    };

    bool open();
    bool post(std::uint64_t slot);

    const Device& device_;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    ibv_mr* region_ = nullptr;
    Slot slots_[kSlots + 1]{};  ///< The last is for sending.
    ibv_ah* route_ = nullptr;   ///< Of the letter that has not left yet.
    bool ready_ = false;
};

}  // namespace softib::abi::nccl
