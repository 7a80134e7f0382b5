// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// A packet in virtual time: the fields that links and switches read, and a number by which the HCAs
// that send and receive it find the rest. Packets are in a pool and are named by their place in it.

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "net/plant/pages.h"
#include "net/plant/units.h"

namespace softib::net {

namespace packet_flag {
inline constexpr std::uint8_t kFecn = 1U << 0;
inline constexpr std::uint8_t kBecn = 1U << 1;
inline constexpr std::uint8_t kBad = 1U << 2;  ///< A cable on its way has broken it.
/// A copy of a multicast packet, see Packet::in_link.
inline constexpr std::uint8_t kCopy = 1U << 3;
/// Switches may choose its port (adaptive routing).
inline constexpr std::uint8_t kAdaptive = 1U << 4;
inline constexpr std::uint8_t kOnCable = 1U << 5;  ///< It is between two nodes.
/// With kBad: the cable that it is on has broken it. Without kBad: its format is wrong, and the
/// port behind the cable refuses it.
inline constexpr std::uint8_t kBrokenHere = 1U << 6;
inline constexpr std::uint8_t kBadInside = 1U << 7;  ///< Its ICRC is wrong, which only HCAs check.
/// Flags that make a receiving port count something.
inline constexpr std::uint8_t kSeen = kFecn | kBecn | kBad | kBrokenHere | kBadInside;
}  // namespace packet_flag

struct Packet {
    std::uint32_t next = kNone;  ///< The next packet of its queue, or the next free record.
    /// The link by which it came and in whose buffer it is; kNone at the HCA that sends it. In a
    /// multicast copy: the place of the packet that stands for all copies in the buffer.
    std::uint32_t in_link = kNone;
    std::uint32_t body = 0;         ///< A number for the HCAs alone.
    std::uint32_t since_units = 0;  ///< When it came into this switch; unit 1,024 ps.
    std::uint16_t dlid = 0;
    std::uint16_t slid = 0;
    std::uint16_t bytes = 0;  ///< From the LRH to the VCRC; 0: a free record.
    std::uint8_t sl = 0;
    std::uint8_t flags = 0;
    std::uint8_t in_vl = 0;  ///< Lane of in_link on which it came.
    std::uint8_t vl = 0;     ///< Lane on which it waits or travels.
    /// A number for the ends: which of them knows `body`. 0: they are told nothing of its fate.
    std::uint8_t tag = 0;
    /// For a packet to the permissive LID at a switch's agent: the port by which it came. Otherwise
    /// the HopLmt of its GRH; 0 without a GRH.
    std::uint8_t in_port_or_hop_lmt = 0;
    /// In a queued packet: its round, see Queues::turn(). In a packet that stands for multicast
    /// copies: how many of them are still in the switch. Otherwise 0.
    std::uint16_t round_or_copies = 0;
};
static_assert(sizeof(Packet) == 32);

class PacketPool {
  public:
    std::uint32_t make(const Packet& packet) {
        ++live_;
        std::uint32_t index = free_;
        if (index == kNone) [[unlikely]] {
            index = static_cast<std::uint32_t>(packets_.size());
            packets_.push_back(packet);
        } else {
            free_ = packets_[index].next;
            packets_[index] = packet;
        }
        return index;
    }
    void free(std::uint32_t index) {
        --live_;
        packets_[index].bytes = 0;
        packets_[index].next = free_;
        free_ = index;
    }
    Packet& operator[](std::uint32_t index) { return packets_[index]; }
    const Packet& operator[](std::uint32_t index) const { return packets_[index]; }
    const Packet* data() const { return packets_.data(); }
    /// Calls visit(index, packet) for every packet.
    void for_each(auto visit) const {
        for (std::uint32_t i = 0; i < packets_.size(); ++i) {
            if (packets_[i].bytes != 0) {
                visit(i, packets_[i]);
            }
        }
    }
    std::size_t size() const { return packets_.size(); }
    std::uint64_t live() const { return live_; }
    std::size_t bytes() const { return packets_.capacity() * sizeof(Packet); }
    /// Frees the pool's memory if there is no packet.
    void give_back() {
        if (live_ == 0) {
            packets_.clear();
            packets_.shrink_to_fit();
            free_ = kNone;
        }
    }

  private:
    Table<Packet> packets_;
    std::uint32_t free_ = kNone;
    std::uint64_t live_ = 0;
};

}  // namespace softib::net
