// SPDX-License-Identifier: BSD-2-Clause
#include "runtime/carrier/roce/roce_batch.h"

#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "core/base/check.h"
#include "core/wire/packet/roce.h"

namespace softib::carrier {

namespace {

constexpr std::uint32_t kBatches = 16;
constexpr std::uint32_t kBatchBytes = 65'000;  ///< UDP's limit, less room for headers.
constexpr std::uint32_t kPacketsMax = 60;      ///< The kernel's limit is 64.

/// The control message that tells the kernel how many bytes each datagram has.
struct alignas(cmsghdr) SegmentControl {
    std::array<std::uint8_t, CMSG_SPACE(sizeof(std::uint16_t))> bytes{};

    void write(msghdr& message, std::uint16_t segment_bytes) {
        message.msg_control = bytes.data();
        message.msg_controllen = bytes.size();
        cmsghdr* const control = CMSG_FIRSTHDR(&message);
        control->cmsg_level = IPPROTO_UDP;
        control->cmsg_type = UDP_SEGMENT;
        control->cmsg_len = CMSG_LEN(sizeof segment_bytes);
        std::memcpy(CMSG_DATA(control), &segment_bytes, sizeof segment_bytes);
    }
};

}  // namespace

RoceBatches::RoceBatches() : batches_(kBatches) {
    for (Batch& batch : batches_) {
        batch.room.resize(kBatchBytes);
    }
}

RoceBatches::Batch& RoceBatches::place_for(int fd, const Gid& to, std::uint32_t bytes) {
    for (std::uint32_t i = used_; i-- > first_;) {
        Batch& batch = batches_[i];
        if (batch.fd != fd || batch.to != to) {
            continue;
        }
        if (batching_ && !batch.closed && bytes <= batch.packet_bytes &&
            batch.count < kPacketsMax && batch.bytes + bytes <= kBatchBytes) {
            return batch;
        }
        break;  // What is sent to the same place stays in order.
    }
    SOFTIB_CHECK(has_room());
    Batch& batch = batches_[used_++];
    if (batch.address.bytes == 0 || batch.to != to) {
        batch.address = roce_address(to);
    }
    batch.fd = fd;
    batch.to = to;
    batch.packet_bytes = bytes;
    batch.count = batch.bytes = 0;
    batch.closed = false;
    return batch;
}

void RoceBatches::add(int fd, const hca::Transmit& transmit) {
    const wire::Grh& route = *transmit.headers.grh;
    Batch& batch = place_for(fd, route.dgid, route.pay_len);
    const auto size = hca::emit_roce(
        transmit,
        {.source_port = wire::kRocePort, .ipv4_id = static_cast<std::uint16_t>(batch.count)},
        std::span(batch.room).subspan(batch.bytes));
    if (!size) {
        // The two addresses are of different IP versions, so the packet cannot be sent.
        used_ -= batch.count == 0 ? 1 : 0;
        return;
    }
    batch.bytes += static_cast<std::uint32_t>(*size);
    batch.closed = *size < batch.packet_bytes;
    ++batch.count;
}

bool RoceBatches::send(const Batch* from, std::uint32_t count, std::uint32_t& sent) {
    std::array<mmsghdr, kBatches> messages{};
    std::array<iovec, kBatches> places{};
    std::array<SegmentControl, kBatches> controls{};
    for (std::uint32_t i = 0; i < count; ++i) {
        const Batch& batch = from[i];
        msghdr& message = messages[i].msg_hdr;
        places[i] = {const_cast<std::uint8_t*>(batch.room.data()), batch.bytes};
        message.msg_name = const_cast<sockaddr_storage*>(&batch.address.storage);
        message.msg_namelen = batch.address.bytes;
        message.msg_iov = &places[i];
        message.msg_iovlen = 1;
        if (batch.count > 1) {
            controls[i].write(message, static_cast<std::uint16_t>(batch.packet_bytes));
        }
    }
    const int done = sendmmsg(from->fd, messages.data(), count, 0);
    if (done < 0) {
        const bool later = errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS;
        // EIO: an interface on the way cannot cut batches. Packets that are lost now are sent again
        // by the transport, and then leave one at a time.
        batching_ = batching_ && errno != EIO;
        // On any other error, such as an unreachable destination, the batch is lost.
        sent = later ? 0 : 1;
        return !later;
    }
    sent = static_cast<std::uint32_t>(done);
    return true;
}

bool RoceBatches::flush() {
    while (first_ < used_) {
        std::uint32_t same = 1;
        while (first_ + same < used_ && batches_[first_ + same].fd == batches_[first_].fd) {
            ++same;
        }
        std::uint32_t sent = 0;
        if (!send(&batches_[first_], same, sent)) {
            return false;
        }
        first_ += sent;
    }
    first_ = used_ = 0;
    return true;
}

}  // namespace softib::carrier
