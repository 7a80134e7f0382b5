// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The reliable multi-packet protocol (IBA vol. 1, 13.6): how one message travels in many MADs. A
// message is the header of its class's MADs (common header, RMPP header, class header) and after
// it data of any length; every segment repeats the header and has as much data as fits.
//
// Two state machines, one for each side of one transfer. They know nothing of peers or of other
// transfers: see rmpp_endpoint.h for that. Time is an argument.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/wire/mad.h"
#include "core/wire/rmpp.h"

namespace softib::mad {

/// Whether MADs of the class have an RMPP header at all.
bool class_has_rmpp(wire::MgmtClass mgmt_class);
/// Where the data begins in MADs of a class that has.
std::size_t rmpp_data_offset(wire::MgmtClass mgmt_class);

/// How long to wait, and how often.
struct RmppTiming {
    std::uint64_t ack_timeout_ns = 1'000'000'000;     ///< Then segments are sent again,
    std::uint32_t retries = 3;                        ///< so often without any progress.
    std::uint64_t total_timeout_ns = 40'000'000'000;  ///< For the whole transfer.
};

/// What has become of a transfer.
struct RmppStep {
    enum State : std::uint8_t { kGoing, kDone, kFailed };
    State state = kGoing;
    wire::RmppStatus status = wire::RmppStatus::kNormal;  ///< Why it failed.
    bool ack = false;                                     ///< Receiver: an ACK is due.
};

/// Segments a message and sends it again where an ACK is missing.
class RmppSender {
  public:
    /// `message` begins with a whole header. `window` is the last segment that may go out before
    /// the first ACK.
    RmppSender(std::vector<std::uint8_t> message, const RmppTiming& timing, std::uint32_t window,
               std::uint64_t now_ns);

    std::uint32_t segment_count() const { return segment_count_; }
    std::uint64_t deadline_ns() const;
    bool wants_to_send() const;
    /// Only when it wants to.
    wire::MadBytes next_segment();

    RmppStep handle_ack(const wire::RmppHeader& ack, std::uint64_t now_ns);
    RmppStep handle_timeout(std::uint64_t now_ns);

    /// A MAD that tells the receiver that this is the end.
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

/// Puts the message together, whatever order its segments come in.
class RmppReceiver {
  public:
    /// `first` is segment 1: start() has said so.
    RmppReceiver(const wire::MadBytes& first, std::uint32_t window, const RmppTiming& timing,
                 std::uint64_t now_ns);

    /// What is wrong with a DATA MAD by itself; kNormal for nothing.
    static wire::RmppStatus check(const wire::RmppHeader& header);

    std::uint64_t deadline_ns() const { return deadline_ns_; }
    /// Returns the bytes of memory that it would hold with this segment.
    std::size_t bytes_with(const wire::RmppHeader& header) const;
    std::size_t bytes() const { return message_.size(); }

    RmppStep handle_data(const wire::MadBytes& mad);

    wire::MadBytes ack() const;
    wire::MadBytes abort(wire::RmppType type, wire::RmppStatus status) const;
    /// The header of the first segment and all data; only when done.
    std::vector<std::uint8_t> take_message() { return std::move(message_); }
    wire::MadBytes first() const;

  private:
    void place(const wire::MadBytes& mad, std::uint32_t segment);
    RmppStep advance();

    std::vector<std::uint8_t> message_;
    std::vector<bool> arrived_;  ///< By segment number - 1.
    std::size_t data_offset_;
    std::uint32_t window_;
    std::uint32_t in_order_ = 0;  ///< All segments up to this one are here.
    std::uint32_t window_last_ = 1;
    std::uint32_t last_ = 0;            ///< The last segment's number; 0: not seen yet.
    std::uint32_t last_length_ = 0;     ///< PayloadLength of the last segment.
    std::uint32_t promised_bytes_ = 0;  ///< PayloadLength of the first; 0: it did not say.
    std::uint64_t deadline_ns_;
};

/// The MAD that answers `mad` with this type: its header, turned round.
wire::MadBytes rmpp_reply(const wire::MadBytes& mad, wire::RmppType type, wire::RmppStatus status,
                          std::uint32_t segment, std::uint32_t window_last);

}  // namespace softib::mad
