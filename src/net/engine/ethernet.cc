// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/ethernet.h"

#include "core/base/mix.h"

namespace softib::net {

namespace {

std::uint32_t to_blocks(std::uint32_t bytes) {
    return (bytes + link::kBlockBytes - 1) / link::kBlockBytes;
}

}  // namespace

Ethernet::Ethernet(const EthernetRules& rules, std::uint32_t ports, std::uint32_t lanes,
                   std::uint32_t nodes)
    : rules_(rules), pause_(ports), gates_(lanes), held_(nodes), lined_up_(ports) {}

void Ethernet::set_pause(std::uint32_t link, const LinkTimes& times) {
    pause_[link] = {.xoff_blocks = to_blocks(rules_.xoff_bytes),
                    .xon_blocks = to_blocks(rules_.xon_bytes),
                    .headroom_blocks = link::headroom_blocks(
                        times.block_ps, times.cable_ps, times.silicon_ps, times.packet_bytes_max)};
}

bool Ethernet::arrive(const At& at, Tell& tell) {
    const link::PauseRule& rule = pause_[at.link];
    link::PauseGate& gate = gates_[at.lane];
    std::uint32_t& held = held_[at.node];
    if (!gate.has_room(rule, at.blocks) || held + at.blocks > to_blocks(rules_.buffer_bytes)) {
        return false;
    }
    held += at.blocks;
    tell = gate.arrive(rule, at.blocks);
    return true;
}

Ethernet::Tell Ethernet::leave(const At& at) {
    held_[at.node] -= at.blocks;
    return gates_[at.lane].leave(pause_[at.link], at.blocks);
}

Ethernet::Verdict Ethernet::line_up(std::uint32_t port, std::uint32_t node, std::uint32_t queued,
                                    std::uint16_t blocks, std::uint32_t name) {
    if (!rules_.lossless) {
        const double room =
            static_cast<double>(to_blocks(rules_.buffer_bytes)) - static_cast<double>(held_[node]);
        if (queued + blocks > rules_.dynamic_threshold * room) {
            return Verdict::kDrop;
        }
    }
    const std::uint64_t draw =
        mix(rules_.seed ^ mix(std::uint64_t{name} << 40 | lined_up_[port]++));
    return rules_.ecn.marks(queued, draw) ? Verdict::kMark : Verdict::kKeep;
}

}  // namespace softib::net
