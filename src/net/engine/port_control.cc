// SPDX-License-Identifier: BSD-2-Clause
#include "net/engine/port_control.h"

#include <algorithm>

#include "core/base/check.h"

namespace softib::net {

void PortControl::manage_all() {
    for (std::uint32_t port = 0; port < plant_.port_count(); ++port) {
        if (plant_.connected(port) && plant_.peer(port) != port) {
            cables_.initialize(port);
            mover_.apply_state(port);
        }
    }
}

void PortControl::initialize(std::uint32_t port) {
    if (cables_.initialize_again(port)) {
        mover_.apply_state(port);
    }
}

bool PortControl::set_logical(std::uint32_t port, PortState wanted) {
    const bool allowed = state(port).set_logical(wanted);
    mover_.apply_state(port);
    return allowed;
}

void PortControl::follow_state(std::uint32_t port, PortState shown) {
    if (shown == PortState::kInit) {
        initialize(port);
        return;
    }
    state(port).follow(shown);
    mover_.apply_state(port);
}

void PortControl::set_link(std::uint32_t port, bool up) {
    SOFTIB_CHECK(plant_.connected(port) && plant_.peer(port) != port);
    if (up == (state(port).physical() != PortPhysicalState::kPolling)) {
        return;
    }
    for (const std::uint32_t end : {port, plant_.peer(port)}) {
        if (up) {
            state(end).handle_other_end_found();
            train(end, plant_.config().training_ps);
            continue;
        }
        cables_.begin_training(end);  // So that a training under way comes to nothing.
        state(end).handle_lost();
        mover_.apply_state(end);
        plant_.rx(end).special |= rx_special::kFlapped;
        cables_.cut_off(end, mover_.now());
        mover_.flush(end);
    }
}

void PortControl::retrain(std::uint32_t port, TimePs takes) {
    SOFTIB_CHECK(plant_.connected(port) && plant_.peer(port) != port);
    for (const std::uint32_t end : {port, plant_.peer(port)}) {
        if (state(end).physical() != PortPhysicalState::kLinkUp) {
            continue;
        }
        state(end).handle_many_errors();
        // Packets on the cable are lost; packets that wait go on waiting.
        plant_.rx(end).special |= rx_special::kFlapped;
        cables_.cut_off(end, mover_.now());
        plant_.tx(end).free_at = std::max(plant_.tx(end).free_at, mover_.now() + takes);
        train(end, takes);
    }
}

/// Schedules the end of a port's training, which does not count if another training begins before.
void PortControl::train(std::uint32_t port, TimePs takes) {
    const std::uint32_t training = cables_.begin_training(port);
    if (takes == 0) {
        mover_.end_training(port, training);
    } else {
        mover_.schedule_.post(mover_.now() + takes, port, EventKind::kTrained, kNone, training);
    }
}

void PortControl::set_node(std::uint32_t node, bool alive) {
    for (std::uint8_t number = 1; number < plant_.ports_of(node); ++number) {
        if (const std::uint32_t port = plant_.port_of(node, number); plant_.connected(port)) {
            set_link(port, alive);
        }
    }
}

void PortControl::set_errors(std::uint32_t port, const CableErrors& errors) {
    cables_.set_errors(port, errors);
    set_flag(plant_.tx(port).special, tx_special::kFaulty, errors.all() != 0);
}

std::uint16_t PortControl::steal_credits(std::uint32_t port, std::uint8_t vl,
                                         std::uint16_t blocks) {
    Lane& from = plant_.lane(port, vl);
    from.absorb(from.grid(mover_.now()));
    const std::uint16_t taken = std::min(blocks, link::credits(from.fctbs, from.fccl));
    from.fccl = link::count_after(from.fccl, link::kCountMask + 1U - taken);
    return taken;
}

/// The HCA stays slow for good, by a picosecond a packet: later packets must not overtake those
/// that wait now.
void PortControl::set_slow(std::uint32_t port, std::uint32_t block_ps) {
    cables_.set_slow(plant_.peer(port), block_ps);
    plant_.rx(plant_.peer(port)).special |= rx_special::kSlow;
}

void PortControl::pause(std::uint32_t port, TimePs until) {
    cables_.pause(plant_.peer(port), until);
    plant_.rx(plant_.peer(port)).special |= rx_special::kSlow;
}

void PortControl::set_delay(std::uint32_t port, std::uint32_t extra_ps) {
    plant_.tx(port).delay_ps += cables_.change_delay(port, extra_ps);
}

void PortControl::set_speed(std::uint32_t port, std::uint32_t block_ps) {
    for (const std::uint32_t end : {port, plant_.peer(port)}) {
        plant_.tx(end).block_ps = block_ps;
        plant_.rx(end).block_ps = block_ps;
    }
}

void PortControl::set_arbitration(std::uint32_t port, const link::ArbitrationTable& table) {
    plant_.set_arbitration(port, table);
    if (Tx& tx = plant_.tx(port); tx.waiting != 0) {
        mover_.plan(port, tx, std::max(tx.free_at, mover_.now()));
    }
}

void PortControl::set_limits(std::uint32_t port, const sw::WaitingLimits& limits) {
    mover_.waits_.set(port, limits);
    set_flag(plant_.tx(port).special, tx_special::kLimited, limits.any());
}

void PortControl::set_tap(std::uint32_t port, bool tapped) {
    set_flag(plant_.rx(plant_.peer(port)).special, rx_special::kTapped, tapped);
}

void PortControl::set_guard(std::uint32_t port, const Guard& guard) {
    mover_.guards_.set(port, guard);
    // Packets from every port of the switch may leave by this one, so all its inputs are marked.
    const std::uint32_t node = plant_.node_of(port);
    bool any = false;
    for (std::uint8_t number = 0; number < plant_.ports_of(node); ++number) {
        any = any || mover_.guards_.checks(plant_.port_of(node, number));
    }
    for (std::uint8_t number = 0; number < plant_.ports_of(node); ++number) {
        if (const std::uint32_t in = plant_.peer(plant_.port_of(node, number)); in != kNone) {
            set_flag(plant_.rx(in).special, rx_special::kPartitioned, any);
        }
    }
}

}  // namespace softib::net
