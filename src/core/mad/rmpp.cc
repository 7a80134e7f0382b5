// SPDX-License-Identifier: BSD-2-Clause
#include "core/mad/rmpp.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::mad {

using wire::kMadBytes;
using wire::MadBytes;
using wire::RmppHeader;
using wire::RmppStatus;
using wire::RmppType;

namespace {

constexpr std::size_t kRmppEnd = wire::kRmppOffset + RmppHeader::kBytes;
/// The bytes of a segment after its RMPP header. PayloadLength counts class headers too.
constexpr std::uint32_t kPayloadBytes = kMadBytes - kRmppEnd;

RmppHeader rmpp_of(const MadBytes& mad) {
    return wire::parse<RmppHeader>(std::span(mad).subspan<wire::kRmppOffset, RmppHeader::kBytes>());
}

void set_rmpp(MadBytes& mad, const RmppHeader& header) {
    wire::emit(header, std::span(mad).subspan<wire::kRmppOffset, RmppHeader::kBytes>());
}

wire::MgmtClass class_of(const std::uint8_t* mad) {
    return static_cast<wire::MgmtClass>(mad[1]);
}

RmppStep failed(RmppStatus status) {
    return {.state = RmppStep::kFailed, .status = status};
}

}  // namespace

bool class_has_rmpp(wire::MgmtClass mgmt_class) {
    const auto number = static_cast<unsigned>(mgmt_class);
    constexpr unsigned kDeviceAdministration = 0x10;
    constexpr unsigned kBootInformation = 0x12;
    return mgmt_class == wire::MgmtClass::kSubnAdm || mgmt_class == wire::MgmtClass::kDeviceMgmt ||
           number == kDeviceAdministration || number == kBootInformation ||
           (number >= 0x30 && number <= 0x4F);  // Vendor classes with an OUI.
}

std::size_t rmpp_data_offset(wire::MgmtClass mgmt_class) {
    const auto number = static_cast<unsigned>(mgmt_class);
    if (mgmt_class == wire::MgmtClass::kSubnAdm) {
        return kRmppEnd + 20;
    }
    return number >= 0x30 && number <= 0x4F ? kRmppEnd + 4 : kRmppEnd + 28;
}

MadBytes rmpp_reply(const MadBytes& mad, RmppType type, RmppStatus status, std::uint32_t segment,
                    std::uint32_t window_last) {
    MadBytes reply{};
    std::copy_n(mad.begin(), rmpp_data_offset(class_of(mad.data())), reply.begin());
    reply[3] ^= wire::kMethodResponseBit;
    set_rmpp(reply, {.rmpp_version = wire::kRmppVersion,
                     .rmpp_type = type,
                     .rresp_time = wire::kRmppNoRespTime,
                     .rmpp_flags = wire::rmpp_flag::kActive,
                     .rmpp_status = status,
                     .segment_number = segment,
                     .payload_length = window_last});
    return reply;
}

RmppSender::RmppSender(std::vector<std::uint8_t> message, const RmppTiming& timing,
                       std::uint32_t window, std::uint64_t now_ns)
    : message_(std::move(message)),
      timing_(timing),
      data_offset_(rmpp_data_offset(class_of(message_.data()))),
      window_last_(window),
      retries_left_(timing.retries),
      ack_deadline_ns_(now_ns + timing.ack_timeout_ns),
      total_deadline_ns_(now_ns + timing.total_timeout_ns) {
    SOFTIB_CHECK(message_.size() >= data_offset_);
    const std::size_t data = message_.size() - data_offset_;
    const std::size_t room = kMadBytes - data_offset_;
    // An empty message is one segment that has only headers.
    segment_count_ = static_cast<std::uint32_t>(std::max<std::size_t>(1, (data + room - 1) / room));
}

std::uint64_t RmppSender::deadline_ns() const {
    return std::min(ack_deadline_ns_, total_deadline_ns_);
}

bool RmppSender::wants_to_send() const {
    return next_ <= std::min(window_last_, segment_count_);
}

MadBytes RmppSender::next_segment() {
    const std::size_t room = kMadBytes - data_offset_;
    const std::size_t begin = data_offset_ + room * (next_ - 1);
    const std::size_t bytes = std::min(room, message_.size() - begin);
    const auto padding =
        static_cast<std::uint32_t>(segment_count_ * room - (message_.size() - data_offset_));
    MadBytes mad{};
    std::copy_n(message_.begin(), data_offset_, mad.begin());
    std::copy_n(message_.begin() + static_cast<std::ptrdiff_t>(begin), bytes,
                mad.begin() + static_cast<std::ptrdiff_t>(data_offset_));
    RmppHeader header{.rmpp_version = wire::kRmppVersion,
                      .rmpp_type = RmppType::kData,
                      .rresp_time = wire::kRmppNoRespTime,
                      .rmpp_flags = wire::rmpp_flag::kActive,
                      .segment_number = next_};
    // PayloadLength of the first segment is the sum of all, that of the last is its own; both count
    // class headers (IBA vol. 1, 13.6.2.1).
    if (next_ == 1) {
        header.rmpp_flags |= wire::rmpp_flag::kFirst;
        header.payload_length = segment_count_ * kPayloadBytes - padding;
    }
    if (next_ == segment_count_) {
        header.rmpp_flags |= wire::rmpp_flag::kLast;
        header.payload_length = kPayloadBytes - padding;
    }
    set_rmpp(mad, header);
    ++next_;
    return mad;
}

RmppStep RmppSender::handle_ack(const RmppHeader& ack, std::uint64_t now_ns) {
    const std::uint32_t segment = ack.segment_number;
    const std::uint32_t window_last = ack.payload_length;
    if (ack.rmpp_status != RmppStatus::kNormal) {
        return failed(RmppStatus::kIllegalStatus);
    }
    if (window_last < segment) {
        return failed(RmppStatus::kNewWindowLastTooSmall);
    }
    if (segment > segment_count_ || segment > window_last_) {
        return failed(RmppStatus::kSegmentNumberTooBig);
    }
    if (segment < acked_ || window_last < window_last_) {
        return {};  // An old ACK that a later one has overtaken.
    }
    if (segment == segment_count_) {
        return {.state = RmppStep::kDone};
    }
    if (segment > acked_ || window_last > window_last_) {
        acked_ = segment;
        window_last_ = window_last;
        next_ = std::max(next_, acked_ + 1);
        retries_left_ = timing_.retries;
        ack_deadline_ns_ = now_ns + timing_.ack_timeout_ns;
    }
    return {};
}

RmppStep RmppSender::handle_timeout(std::uint64_t now_ns) {
    if (now_ns >= total_deadline_ns_) {
        return failed(RmppStatus::kTotalTimeTooLong);
    }
    if (now_ns < ack_deadline_ns_) {
        return {};
    }
    if (retries_left_ == 0) {
        return failed(RmppStatus::kTooManyRetries);
    }
    --retries_left_;
    next_ = acked_ + 1;
    ack_deadline_ns_ = now_ns + timing_.ack_timeout_ns;
    return {};
}

MadBytes RmppSender::abort(RmppStatus status) const {
    MadBytes mad{};
    std::copy_n(message_.begin(), data_offset_, mad.begin());
    mad[3] ^= wire::kMethodResponseBit;  // rmpp_reply() turns the bit back: ours is no reply.
    return rmpp_reply(mad, RmppType::kAbort, status, 0, 0);
}

RmppReceiver::RmppReceiver(const MadBytes& first, std::uint32_t window, const RmppTiming& timing,
                           std::uint64_t now_ns)
    : message_(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(
                                                  rmpp_data_offset(class_of(first.data())))),
      data_offset_(message_.size()),
      window_(std::max<std::uint32_t>(window, 1)),
      promised_bytes_(rmpp_of(first).payload_length),
      deadline_ns_(now_ns + timing.total_timeout_ns) {}

RmppStatus RmppReceiver::check(const RmppHeader& header) {
    if (header.rmpp_status != RmppStatus::kNormal) {
        return RmppStatus::kIllegalStatus;
    }
    const bool is_first = (header.rmpp_flags & wire::rmpp_flag::kFirst) != 0;
    if (is_first != (header.segment_number == 1) || header.segment_number == 0) {
        return RmppStatus::kInconsistentFirstAndSegment;
    }
    if ((header.rmpp_flags & wire::rmpp_flag::kLast) != 0 &&
        header.payload_length > kPayloadBytes) {
        return RmppStatus::kInconsistentLastAndLength;
    }
    return RmppStatus::kNormal;
}

std::size_t RmppReceiver::bytes_with(const RmppHeader& header) const {
    if (header.segment_number > window_last_) {
        return message_.size();
    }
    const std::size_t room = kMadBytes - data_offset_;
    return std::max(message_.size(), data_offset_ + room * header.segment_number);
}

RmppStep RmppReceiver::handle_data(const MadBytes& mad) {
    const RmppHeader header = rmpp_of(mad);
    const RmppStatus wrong = check(header);
    if (wrong != RmppStatus::kNormal) {
        return failed(wrong);
    }
    const std::uint32_t segment = header.segment_number;
    if (segment > window_last_) {
        return {};  // The segment is beyond the window that we gave.
    }
    if (segment <= in_order_) {
        return {.ack = true};  // A segment came again: its ACK was lost or late.
    }
    if ((header.rmpp_flags & wire::rmpp_flag::kLast) != 0) {
        if (last_ != 0 && last_ != segment) {
            return failed(RmppStatus::kInconsistentLastAndLength);
        }
        last_ = segment;
        last_length_ = header.payload_length;
    }
    if (last_ != 0 && segment > last_) {
        return failed(RmppStatus::kInconsistentLastAndLength);
    }
    place(mad, segment);
    return advance();
}

void RmppReceiver::place(const MadBytes& mad, std::uint32_t segment) {
    const std::size_t room = kMadBytes - data_offset_;
    const std::size_t begin = data_offset_ + room * (segment - 1);
    if (message_.size() < begin + room) {
        message_.resize(begin + room);
    }
    if (arrived_.size() < segment) {
        arrived_.resize(segment);
    }
    arrived_[segment - 1] = true;
    std::copy_n(mad.begin() + static_cast<std::ptrdiff_t>(data_offset_), room,
                message_.begin() + static_cast<std::ptrdiff_t>(begin));
}

RmppStep RmppReceiver::advance() {
    while (in_order_ < arrived_.size() && arrived_[in_order_]) {
        ++in_order_;
    }
    const bool whole = last_ != 0 && in_order_ == last_;
    // Fails if there are more segments than the first promised, or if the sum differs from it.
    const std::uint64_t before = std::uint64_t{kPayloadBytes} * (whole ? last_ - 1 : in_order_);
    if (promised_bytes_ != 0 &&
        (whole ? promised_bytes_ != before + last_length_ : promised_bytes_ <= before)) {
        return failed(RmppStatus::kInconsistentLastAndLength);
    }
    if (whole) {
        const std::size_t headers = data_offset_ - kRmppEnd;
        // A PayloadLength shorter than the class header counts as absent: some senders omit it.
        const std::size_t unused = last_length_ < headers ? 0 : kPayloadBytes - last_length_;
        message_.resize(message_.size() - unused);
        return {.state = RmppStep::kDone, .ack = true};
    }
    if (in_order_ == window_last_) {
        window_last_ = in_order_ + window_;
        return {.ack = true};
    }
    return {};
}

MadBytes RmppReceiver::first() const {
    MadBytes mad{};
    std::copy_n(message_.begin(), std::min(message_.size(), mad.size()), mad.begin());
    return mad;
}

MadBytes RmppReceiver::ack() const {
    return rmpp_reply(first(), RmppType::kAck, RmppStatus::kNormal, in_order_,
                      std::max(in_order_, window_last_));
}

MadBytes RmppReceiver::abort(RmppType type, RmppStatus status) const {
    return rmpp_reply(first(), type, status, 0, 0);
}

}  // namespace softib::mad
