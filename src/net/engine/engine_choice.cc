// SPDX-License-Identifier: BSD-2-Clause
// The choice among ports, for packets that allow it. A switch sees only what it has itself: what
// waits at its ports, and from its credits what is under way to the next switches or lies in their
// buffers.
#include <algorithm>

#include "core/base/mix.h"
#include "core/switch/adaptive.h"
#include "net/engine/engine.h"

namespace softib::net {

namespace {

/// Blocks that must wait on the short way before a longer one is worth while: two packets of 4 KiB.
constexpr std::uint64_t kDetourBlocks = 130;

}  // namespace

/// Returns how long a packet would wait at a port and behind it, as far as the switch can see.
TimePs Engine::wait_at(std::uint32_t out, std::uint8_t vl) {
    const Tx& tx = tx_[out];
    if ((tx.special & tx_special::kClosed) != 0) {
        return sw::kNotEligible;
    }
    Lane& to = lane(out, vl);
    to.absorb(to.grid(now()));
    const std::uint32_t room = link::credits(to.fctbs, to.fccl);
    const std::uint32_t held = buffer_blocks() - std::min<std::uint32_t>(room, buffer_blocks());
    const TimePs busy = tx.free_at > now() ? tx.free_at - now() : 0;
    return busy + TimePs{to.queued_blocks + held} * tx.block_ps;
}

std::uint8_t Engine::choose_port(const Rx& rx, const Packet& packet, std::uint8_t by_table) {
    const auto self = static_cast<std::uint32_t>(rx.lft / lft_stride_);
    const sw::AdaptiveTable::Choice ports = adaptive_[self].choice(packet.dlid, rx.port);
    if (ports.near.empty()) {
        return by_table;
    }
    const std::uint8_t otherwise = ports.binding ? ports.near.front() : by_table;
    if (ports.near.size() + ports.far.size() < 2) {
        return otherwise;
    }
    if (ethernet_ != nullptr && ethernet_->rules.spread != EthernetRules::Spread::kLoad) {
        return spread_port(rx, packet, ports.near, otherwise);
    }
    // Among equal ports one is taken at random: switches that went round in step would send to the
    // same places further on.
    const auto start =
        static_cast<std::uint32_t>(mix(std::uint64_t{rx.name} << 32 | turns_[self]++) >> 32);
    return sw::least_loaded(
        ports.near, ports.far, start, otherwise, kDetourBlocks * rx.block_ps,
        [&](std::uint8_t number) {
            const std::uint8_t vl = rx.sl_rows == kNone
                                        ? lane_of(packet.sl)
                                        : rows_[sl_rows_[rx.sl_rows + number]][packet.sl];
            return vl < config_.data_vls ? wait_at(rx.first_out + number, vl) : sw::kNotEligible;
        });
}

}  // namespace softib::net
