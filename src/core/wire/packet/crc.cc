// SPDX-License-Identifier: BSD-2-Clause
#include "core/wire/packet/crc.h"

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstring>

#include "core/wire/packet/crc_fold.h"
#include "core/wire/packet/crc_shift.h"
#include "core/wire/packet/link.h"
#include "core/wire/packet/network.h"
#include "core/wire/packet/transport.h"

namespace softib::wire {

namespace {

/// A CRC, computed in steps of eight bytes. The lowest bit of a byte goes first on the wire, so the
/// polynomial is mirrored. Table k has the CRC state of a byte after k further bytes.
template <std::unsigned_integral T, T kMirrored>
class Crc {
  public:
    void add(std::span<const std::uint8_t> bytes) {
        if constexpr (kMirrored == kIcrcPolynomial) {
            if (bytes.size() >= kFoldBytesMin && can_fold()) {
                const auto folded = fold(state_, bytes);
                state_ = 0;
                add(folded);
            }
        }
        std::size_t i = 0;
        for (; bytes.size() - i >= kStep; i += kStep) {
            std::uint64_t word;
            std::memcpy(&word, bytes.data() + i, kStep);
            word ^= state_;
            T next = 0;
#pragma GCC unroll 8
            for (std::size_t k = 0; k < kStep; ++k) {
                next = static_cast<T>(next ^ kTables[kStep - 1 - k][word >> (8 * k) & 0xFF]);
            }
            state_ = next;
        }
        for (; i < bytes.size(); ++i) {
            state_ = static_cast<T>(state_ >> 8 ^ kTables[0][(state_ ^ bytes[i]) & 0xFF]);
        }
    }
    T on_the_wire() const { return std::byteswap(static_cast<T>(~state_)); }

  private:
    static constexpr std::size_t kStep = 8;
    static constexpr auto kTables = [] {
        std::array<std::array<T, 256>, kStep> tables{};
        for (std::size_t byte = 0; byte < 256; ++byte) {
            auto state = static_cast<T>(byte);
            for (int bit = 0; bit < 8; ++bit) {
                state = static_cast<T>(state >> 1 ^ ((state & 1) != 0 ? kMirrored : T{0}));
            }
            tables[0][byte] = state;
        }
        for (std::size_t k = 1; k < kStep; ++k) {
            for (std::size_t byte = 0; byte < 256; ++byte) {
                const T before = tables[k - 1][byte];
                tables[k][byte] = static_cast<T>(before >> 8 ^ tables[0][before & 0xFF]);
            }
        }
        return tables;
    }();

    T state_ = static_cast<T>(~T{0});
};

using Crc32 = Crc<std::uint32_t, kIcrcPolynomial>;  ///< 0x04C11DB7 mirrored.
using Crc16 = Crc<std::uint16_t, 0xD008>;           ///< 0x100B mirrored.

constexpr std::size_t kBthVariantByte = 4;
constexpr std::size_t kUdpBytes = 8;
constexpr std::size_t kIpv4BytesMax = 60;

/// A copy of a packet's headers, in which the fields that may change on the way are set to ones.
class Masked {
  public:
    explicit Masked(std::span<const std::uint8_t> packet)
        : size_(std::min(packet.size(), bytes_.size())) {
        std::ranges::copy(packet.first(size_), bytes_.begin());
    }
    void set(std::size_t at, std::uint8_t mask = 0xFF) {
        bytes_[at] = static_cast<std::uint8_t>(bytes_[at] | mask);
    }
    void set_all(std::size_t at, std::size_t count) {
        std::fill_n(bytes_.begin() + static_cast<std::ptrdiff_t>(at), count, std::uint8_t{0xFF});
    }
    /// Sets TClass, FlowLabel and HopLmt of a GRH, or of an IPv6 header, which has the same format.
    void set_route(std::size_t at) {
        set(at, 0x0F);
        set_all(at + 1, 3);
        set(at + 7);
    }
    std::uint8_t operator[](std::size_t at) const { return bytes_[at]; }
    std::span<const std::uint8_t> bytes() const { return std::span(bytes_).first(size_); }

  private:
    std::array<std::uint8_t, kIpv4BytesMax + kUdpBytes + Bth::kBytes> bytes_{};
    std::size_t size_;
};

}  // namespace

std::uint32_t icrc(std::span<const std::uint8_t> packet) {
    const bool global = packet.size() > 1 &&
                        (packet[1] & 0x03) == static_cast<std::uint8_t>(LinkNextHeader::kGlobal);
    const std::size_t bth = Lrh::kBytes + (global ? Grh::kBytes : 0);
    Masked headers(packet.first(std::min(packet.size(), bth + Bth::kBytes)));
    if (global) {
        headers.set_all(0, Lrh::kBytes);
        headers.set_route(Lrh::kBytes);
    } else {
        headers.set(0, 0xF0);
    }
    headers.set(bth + kBthVariantByte);
    Crc32 crc;
    crc.add(headers.bytes());
    crc.add(packet.subspan(headers.bytes().size()));
    return crc.on_the_wire();
}

std::optional<std::uint32_t> icrc_of_datagram(std::span<const std::uint8_t> datagram) {
    constexpr std::size_t kIpv4BytesMin = 20;
    constexpr std::size_t kIpv6Bytes = 40;
    if (datagram.empty()) {
        return std::nullopt;
    }
    const int version = datagram[0] >> 4;
    const std::size_t ip_bytes = version == 4 ? std::size_t{4} * (datagram[0] & 0x0FU) : kIpv6Bytes;
    if ((version != 4 && version != 6) || ip_bytes < kIpv4BytesMin ||
        datagram.size() < ip_bytes + kUdpBytes + Bth::kBytes) {
        return std::nullopt;
    }
    const std::size_t bth = ip_bytes + kUdpBytes;
    return icrc_of_datagram(datagram.first(bth), datagram.subspan(bth));
}

std::uint32_t icrc_of_datagram(std::span<const std::uint8_t> ip_and_udp,
                               std::span<const std::uint8_t> from_bth) {
    constexpr std::size_t kUdpChecksumBytes = 2;
    constexpr auto kNoLrh = [] {
        std::array<std::uint8_t, Lrh::kBytes> ones{};
        ones.fill(0xFF);
        return ones;
    }();
    Masked headers(ip_and_udp);
    if (headers[0] >> 4 == 4) {
        headers.set(1);          // Type of service.
        headers.set(8);          // Time to live.
        headers.set_all(10, 2);  // Check sum.
    } else {
        headers.set_route(0);
    }
    headers.set_all(ip_and_udp.size() - kUdpChecksumBytes, kUdpChecksumBytes);
    Masked bth(from_bth.first(Bth::kBytes));
    bth.set(kBthVariantByte);
    Crc32 crc;
    crc.add(kNoLrh);
    crc.add(headers.bytes());
    crc.add(bth.bytes());
    crc.add(from_bth.subspan(Bth::kBytes));
    return crc.on_the_wire();
}

std::uint16_t vcrc(std::span<const std::uint8_t> bytes) {
    Crc16 crc;
    crc.add(bytes);
    return crc.on_the_wire();
}

}  // namespace softib::wire
