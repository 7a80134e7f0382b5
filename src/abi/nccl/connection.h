// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The two ends of a connection as NCCL uses it: one sends, one receives.
//
// The receiver writes into the sender's FIFO where it wants data (an Offer for each buffer). The
// sender takes the offer that has its tag, writes the data there by RDMA and says so by the
// immediate value, which names the offer. So the receiver knows the length of each message by the
// completion, several messages may answer one call (grouped receives), and no byte is copied twice.
//
// Thread rule: one thread at a time for each end, which is what NCCL promises.

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>

#include "abi/nccl/device.h"
#include "abi/nccl/mailbox.h"

namespace softib::abi::nccl {

inline constexpr std::uint32_t kRequestsMax = 256;  ///< 32 groups of kReceivesMax.

/// A buffer that waits for a message. RDMA places bytes in the order of their addresses, so an
/// offer is whole when its number, which stands last, is there.
struct Offer {
    std::uint64_t at;
    std::uint64_t bytes;
    std::uint32_t rkey;
    std::int32_t tag;
    std::uint32_t group;   ///< Offers of one call,
    std::uint32_t number;  ///< counted from 1, so that a fresh FIFO has none.
};
using OfferGroup = Offer[kReceivesMax];

class Connection;

/// What NCCL tests: a message sent, or a group of messages received.
struct Request {
    Connection* connection = nullptr;
    bool used = false;
    int messages = 0;  ///< Of this call,
    int left = 0;      ///< of which so many are not over.
    int bytes[kReceivesMax]{};
};

/// A queue pair and what both ends have in common.
class Connection {
  public:
    explicit Connection(const Device& device) : device_(device) {}
    virtual ~Connection();
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    const Device& device() const { return device_; }
    /// Makes the queue pair and the FIFO's memory.
    bool open();
    bool connect(const Address& peer);
    Address address() const { return address_of(device_, qp_->qp_num); }
    std::uint64_t fifo_at() const { return reinterpret_cast<std::uint64_t>(fifo_.get()); }
    std::uint32_t fifo_rkey() const { return fifo_region_->rkey; }

    /// Takes what has completed. Returns an error, with a line in the log, if something failed.
    Result progress();

  protected:
    virtual void take(const ibv_wc& done) = 0;
    Result post_write(const ibv_sge& from, std::uint64_t to, std::uint32_t rkey,
                      const std::uint32_t* immediate, std::uint64_t id);

    const Device& device_;
    ibv_cq* cq_ = nullptr;
    ibv_qp* qp_ = nullptr;
    std::unique_ptr<OfferGroup[]> fifo_;  ///< The sender's is written by the receiver.
    ibv_mr* fifo_region_ = nullptr;
    Request requests_[kRequestsMax];
};

class SendEnd : public Connection {
  public:
    using Connection::Connection;

    /// Tells the receiver that this end can be written to.
    Result greet();
    /// `request` becomes nullptr if nobody wants the message yet.
    Result send(void* data, std::size_t bytes, int tag, const ibv_mr& region, Request*& request);

  private:
    void take(const ibv_wc& done) override;

    std::uint32_t head_ = 0;   ///< The group that is served.
    std::uint32_t taken_ = 0;  ///< A bit for each of its offers.
    std::uint32_t writes_ = 0;
};

class ReceiveEnd : public Connection {
  public:
    using Connection::Connection;

    void set_fifo(std::uint64_t at, std::uint32_t rkey) { peer_fifo_ = at, peer_rkey_ = rkey; }
    Result expect_greeting();
    bool greeted() const { return greeted_; }
    /// `request` becomes nullptr if there are too many already.
    Result receive(int count, void* const* data, const std::size_t* bytes, const int* tags,
                   void* const* regions, Request*& request);

  private:
    void take(const ibv_wc& done) override;
    Result post_receive();

    std::uint64_t peer_fifo_ = 0;
    std::uint32_t peer_rkey_ = 0;
    std::uint32_t head_ = 0;
    std::uint32_t expected_ = 0;  ///< Receives that wait for a message.
    bool greeted_ = false;
};

}  // namespace softib::abi::nccl
