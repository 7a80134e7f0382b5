// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The reliable multi-packet transaction protocol, RMPP (IBA vol. 1, 13.6), by which one message
// travels in many MADs. A message is the header of its class's MADs (common header, RMPP header,
// class header) and then data of any length; every segment repeats the header and has as much data
// as fits.
//
// RmppSender and RmppReceiver are the state machines of the two sides of one transfer. They know
// nothing of peers or of other transfers: see rmpp_endpoint.h for these. Time is an argument.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/wire/mad/mad.h"
#include "core/wire/mad/rmpp.h"

namespace softib::mad {

/// Returns whether MADs of the class have an RMPP header.
bool class_has_rmpp(wire::MgmtClass mgmt_class);
/// Returns the offset of the data in MADs of a class that has an RMPP header.
std::size_t rmpp_data_offset(wire::MgmtClass mgmt_class);

/// The timeouts of a transfer, and its number of retries.
struct RmppTiming {
    std::uint64_t ack_timeout_ns = 1'000'000'000;     ///< Wait for an ACK before segments go again.
    std::uint32_t retries = 3;                        ///< Most retries in a row without progress.
    std::uint64_t total_timeout_ns = 40'000'000'000;  ///< Limit for the whole transfer.
};

/// The state of a transfer after a MAD or a timeout.
struct RmppStep {
    enum State : std::uint8_t { kGoing, kDone, kFailed };
    State state = kGoing;
    wire::RmppStatus status = wire::RmppStatus::kNormal;  ///< The reason, if `state` is kFailed.
    bool ack = false;                                     ///< Whether the receiver must send ack().
};

/// Sends a message in segments, and segments again for which no ACK came.
class RmppSender {
  public:
    /// `message` begins with a whole header. `window` is the last segment that may go out before
    /// the first ACK.
    RmppSender(std::vector<std::uint8_t> message, const RmppTiming& timing, std::uint32_t window,
               std::uint64_t now_ns);

    std::uint32_t segment_count() const { return segment_count_; }
    std::uint64_t deadline_ns() const;
    /// Returns whether a segment is left that the window allows.
    bool wants_to_send() const;
    /// Returns the next segment. Call it only if wants_to_send().
    wire::MadBytes next_segment();

    RmppStep handle_ack(const wire::RmppHeader& ack, std::uint64_t now_ns);
    RmppStep handle_timeout(std::uint64_t now_ns);

    /// Returns the ABORT that tells the receiver that the transfer has failed.
    wire::MadBytes abort(wire::RmppStatus status) const;
    std::size_t bytes() const { return message_.size(); }
    std::vector<std::uint8_t> take_message() { return std::move(message_); }

  private:
    std::vector<std::uint8_t> message_;
    RmppTiming timing_;
    std::size_t data_offset_;
    std::uint32_t segment_count_;
    std::uint32_t next_ = 1;
    std::uint32_t acked_ = 0;
    std::uint32_t window_last_;
    std::uint32_t retries_left_;
    std::uint64_t ack_deadline_ns_;
    std::uint64_t total_deadline_ns_;
};

/// Puts a message together from its segments, which may come in any order.
class RmppReceiver {
  public:
    /// `first` must be segment 1. It only begins the transfer: pass it to handle_data() too.
    RmppReceiver(const wire::MadBytes& first, std::uint32_t window, const RmppTiming& timing,
                 std::uint64_t now_ns);

    /// Returns the error in the header of a DATA MAD; kNormal if there is none.
    static wire::RmppStatus check(const wire::RmppHeader& header);

    std::uint64_t deadline_ns() const { return deadline_ns_; }
    /// Returns the bytes of memory that the receiver would hold with this segment.
    std::size_t bytes_with(const wire::RmppHeader& header) const;
    std::size_t bytes() const { return message_.size(); }

    RmppStep handle_data(const wire::MadBytes& mad);

    wire::MadBytes ack() const;
    wire::MadBytes abort(wire::RmppType type, wire::RmppStatus status) const;
    /// Returns the header of the first segment and all data. Call it only once the state is kDone.
    std::vector<std::uint8_t> take_message() { return std::move(message_); }
    wire::MadBytes first() const;

  private:
    void place(const wire::MadBytes& mad, std::uint32_t segment);
    RmppStep advance();

    std::vector<std::uint8_t> message_;
    std::vector<bool> arrived_;  ///< Whether a segment has come, by its number - 1.
    std::size_t data_offset_;
    std::uint32_t window_;
    std::uint32_t in_order_ = 0;  ///< The segment up to which all have come.
    std::uint32_t window_last_ = 1;
    std::uint32_t last_ = 0;            ///< Number of the last segment; 0 until it has come.
    std::uint32_t last_length_ = 0;     ///< PayloadLength of the last segment.
    std::uint32_t promised_bytes_ = 0;  ///< PayloadLength of segment 1; 0 if it gave none.
    std::uint64_t deadline_ns_;
};

/// Returns an RMPP MAD of type `type` to the sender of `mad`: its header, with the response bit of
/// the method turned over.
wire::MadBytes rmpp_reply(const wire::MadBytes& mad, wire::RmppType type, wire::RmppStatus status,
                          std::uint32_t segment, std::uint32_t window_last);

}  // namespace softib::mad
