// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A queue pair for datagrams (letters), by which the two ends of a future connection tell each
// other the addresses of their queue pairs. NCCL passes one handle from the listener to the
// connector; the rest goes over the fabric itself, without a socket. Datagrams may be lost, so an
// end that waits sends its letter again.
//
// Thread rule: one thread at a time.

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "abi/nccl/device.h"

namespace softib::abi::nccl {

/// The address of a queue pair.
struct Address {
    ibv_gid gid;
    std::uint32_t qpn;
    std::uint16_t lid;
    std::uint8_t mtu;
    std::uint8_t global;  ///< 1 if it is reached by its GID (RoCE).
};

Address address_of(const Device& device, std::uint32_t qpn);
/// Returns the address vector towards a queue pair.
ibv_ah_attr route_to(const Device& device, const Address& to);

/// A datagram between two mailboxes.
struct Letter {
    static constexpr std::uint32_t kRequest = 0x73527131;
    static constexpr std::uint32_t kReply = 0x73527031;

    std::uint32_t kind;
    std::uint32_t fifo_rkey;
    std::uint64_t token;    ///< The listener's number; letters with another one are ignored.
    std::uint64_t fifo_at;  ///< Address of the FIFO at the letter's sender (connection.h).
    Address connection;     ///< The sender's queue pair, which will be connected.
    Address mailbox;        ///< The sender's mailbox, for the reply.
};

class Mailbox {
  public:
    explicit Mailbox(const Device& device);
    ~Mailbox();
    Mailbox(const Mailbox&) = delete;
    Mailbox& operator=(const Mailbox&) = delete;

    /// Returns the errno value of what failed when the mailbox was made; 0 if it works.
    int error() const { return error_; }
    Address address() const;
    /// Sends a letter, which may be lost. Returns false if the HCA refuses.
    bool send(const Address& to, const Letter& letter);
    /// Returns a letter that has come; std::nullopt if there is none.
    std::optional<Letter> receive();

  private:
    static constexpr int kSlots = 8;
    static constexpr std::uint32_t kGrhBytes = 40;
    struct Slot {
        std::uint8_t grh[kGrhBytes];
        Letter letter;
    };

    /// Returns 0 or an errno value.
    int open();
    /// Posts a receive request. Returns 0 or an errno value.
    int post(std::uint64_t slot);

    const Device& device_;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    ibv_mr* region_ = nullptr;
    Slot slots_[kSlots + 1]{};  ///< Slots for letters that come; the last is for sending.
    ibv_ah* route_ = nullptr;   ///< Route of the letter that has not left yet; nullptr if all have.
    int error_ = 0;
};

}  // namespace softib::abi::nccl
