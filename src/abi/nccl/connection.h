// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two ends of a connection as NCCL uses it: one sends, one receives.
//
// The receiver writes an Offer for each of its buffers into the sender's FIFO. The sender takes the
// offer that has its tag, and writes the data there by RDMA, with an immediate value that names the
// offer. So the receiver learns the length of each message from its completion, several messages
// may answer one call (grouped receives), and no byte is copied twice.
//
// Thread rule: one thread at a time for each end, which is what NCCL promises.

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "abi/nccl/device.h"
#include "abi/nccl/mailbox.h"

namespace softib::abi::nccl {

/// Most requests of an end at a time, and most groups of offers in a FIFO. NCCL has at most 32
/// calls under way, of kReceivesMax messages each.
inline constexpr std::uint32_t kRequestsMax = 256;

/// A buffer that waits for a message. RDMA places bytes in the order of their addresses, so an
/// offer is complete when its number, which is the last field, has come.
struct Offer {
    std::uint64_t at;
    std::uint64_t bytes;
    std::uint32_t rkey;
    std::int32_t tag;
    std::uint32_t group;   ///< How many offers the receiver's call has made.
    std::uint32_t number;  ///< Number of the receiver's call, from 1; 0 in a FIFO without offers.
};
/// The offers of one call of the receiver.
using OfferGroup = Offer[kReceivesMax];

class Connection;

/// What NCCL tests for completion: one message to send, or a group of messages to receive.
struct Request {
    Connection* connection = nullptr;
    bool used = false;
    int messages = 0;           ///< Messages of this call.
    int left = 0;               ///< Messages of this call that are not complete.
    int bytes[kReceivesMax]{};  ///< Length of each message.
};

/// A queue pair and what both ends have in common.
class Connection {
  public:
    explicit Connection(const Device& device) : device_(device) {}
    virtual ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    const Device& device() const { return device_; }
    /// Makes the queue pair and the FIFO's memory. Returns 0 or an errno value.
    int open();
    /// Connects the queue pair to its peer. Returns false if the HCA refuses.
    bool connect(const Address& peer);
    Address address() const { return address_of(device_, qp_->qp_num); }
    std::uint64_t fifo_at() const { return reinterpret_cast<std::uint64_t>(fifo_.get()); }
    std::uint32_t fifo_rkey() const { return fifo_region_->rkey; }

    /// Handles all completions. Returns an error, with a line in the log, if a request has failed.
    Result progress();

  protected:
    virtual void take(const ibv_wc& done) = 0;
    Result post_write(const ibv_sge& from, std::uint64_t to, std::uint32_t rkey,
                      const std::uint32_t* immediate, std::uint64_t id);

    const Device& device_;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    std::unique_ptr<OfferGroup[]> fifo_;  ///< Offers; the receiver writes its own to the sender's.
    ibv_mr* fifo_region_ = nullptr;
    Request requests_[kRequestsMax];
};

class SendEnd : public Connection {
  public:
    using Connection::Connection;

    /// Tells the receiver, by a first message, that it can write to this end.
    Result greet();
    /// Sends a message. `request` becomes nullptr if the receiver has not offered a buffer for it
    /// yet; NCCL then calls again.
    Result send(void* data, std::size_t bytes, int tag, const ibv_mr& region, Request*& request);

  private:
    void take(const ibv_wc& done) override;

    std::uint32_t head_ = 0;    ///< Number of the group of offers that is being answered, from 0.
    std::uint32_t taken_ = 0;   ///< Offers of that group that have been answered, as bits.
    std::uint32_t writes_ = 0;  ///< Number of messages sent.
};

class ReceiveEnd : public Connection {
  public:
    using Connection::Connection;

    /// Sets where the sender's FIFO is.
    void set_fifo(std::uint64_t at, std::uint32_t rkey) { peer_fifo_ = at, peer_rkey_ = rkey; }
    /// Posts a receive request for the sender's greeting.
    Result expect_greeting();
    /// Returns whether the sender's greeting has come.
    bool greeted() const { return greeted_; }
    /// Offers `count` buffers to the sender. `request` becomes nullptr if too many are offered
    /// already; NCCL then calls again.
    Result receive(int count, void* const* data, const std::size_t* bytes, const int* tags,
                   void* const* regions, Request*& request);

  private:
    void take(const ibv_wc& done) override;
    Result post_receive();

    std::uint64_t peer_fifo_ = 0;
    std::uint32_t peer_rkey_ = 0;
    std::uint32_t head_ = 0;      ///< Number of calls that have offered buffers.
    std::uint32_t expected_ = 0;  ///< Receive requests that wait for a message.
    bool greeted_ = false;
};

}  // namespace softib::abi::nccl
