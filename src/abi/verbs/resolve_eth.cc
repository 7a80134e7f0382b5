// SPDX-License-Identifier: BSD-2-Clause
//
// The Ethernet address of a RoCE GID, if it follows from the GID itself: a virtual fabric has no
// neighbour table.
#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "abi/verbs/entry.h"

namespace {

constexpr std::uint16_t kNoVlan = 0xffff;

using RawGid = std::span<const std::uint8_t, 16>;
using Mac = std::span<std::uint8_t, 6>;

bool is_ipv4_mapped(RawGid gid) noexcept {
    return std::ranges::all_of(gid.first<10>(), [](std::uint8_t byte) { return byte == 0; }) &&
           gid[10] == 0xff && gid[11] == 0xff;
}

void set_mac(Mac mac, const std::array<std::uint8_t, 6>& bytes) noexcept {
    std::ranges::copy(bytes, mac.begin());
}

bool mac_of(RawGid gid, Mac mac) noexcept {
    // RFC 1112, 6.4: 01-00-5e and the low 23 bits of an IPv4 group.
    if (is_ipv4_mapped(gid) && (gid[12] & 0xf0U) == 0xe0U) {
        set_mac(mac,
                {0x01, 0x00, 0x5e, static_cast<std::uint8_t>(gid[13] & 0x7fU), gid[14], gid[15]});
        return true;
    }
    // RFC 2464, 7: 33-33 and the low 32 bits of an IPv6 group.
    if (gid[0] == 0xff) {
        set_mac(mac, {0x33, 0x33, gid[12], gid[13], gid[14], gid[15]});
        return true;
    }
    // RFC 4291, appendix A: a link-local address made from a MAC, local bit inverted.
    if (gid[0] == 0xfe && (gid[1] & 0xc0U) == 0x80U && gid[11] == 0xff && gid[12] == 0xfe) {
        set_mac(mac, {static_cast<std::uint8_t>(gid[8] ^ 2U), gid[9], gid[10], gid[13], gid[14],
                      gid[15]});
        return true;
    }
    return false;
}

}  // namespace

extern "C" {

int softib_ibv_resolve_eth_l2_from_gid(ibv_context* /*context*/, ibv_ah_attr* attr,
                                       std::uint8_t* eth_mac, std::uint16_t* vid) noexcept {
    if (!mac_of(RawGid{attr->grh.dgid.raw}, Mac{eth_mac, 6})) {
        return -EHOSTUNREACH;
    }
    if (vid != nullptr) {
        *vid = kNoVlan;
    }
    return 0;
}

}  // extern "C"
