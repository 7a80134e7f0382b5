// SPDX-License-Identifier: BSD-2-Clause
// Cables that come and go, and the states of the ports at their ends. apply_state() puts what a
// port may send and receive into flags, so that an active port costs nothing.
#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "net/engine/engine.h"

namespace softib::net {

/// Sets the flags of a port by its state, for packets that go out and come in.
void Engine::apply_state(std::uint32_t port) {
    const link::PortStateMachine& now_in = state(port);
    const auto set = [](std::uint8_t& flags, std::uint8_t flag, bool on) {
        flags = static_cast<std::uint8_t>(on ? flags | flag : flags & ~flag);
    };
    std::uint8_t& out = plant_.tx(port).special;
    set(out, tx_special::kDown, !now_in.may_send(link::kVl15));
    set(out, tx_special::kClosed, !now_in.may_send(0));
    set(plant_.rx(plant_.peer(port)).special, rx_special::kGuarded,
        now_in.logical() != PortState::kActive);
}

void Engine::manage_ports() {
    for (std::uint32_t port = 0; port < plant_.port_count(); ++port) {
        if (plant_.connected(port) && plant_.peer(port) != port) {
            cables_.initialize(port);
            apply_state(port);
        }
    }
}

void Engine::initialize_port(std::uint32_t port) {
    if (cables_.initialize_again(port)) {
        apply_state(port);
    }
}

bool Engine::set_logical(std::uint32_t port, PortState wanted) {
    const bool allowed = state(port).set_logical(wanted);
    apply_state(port);
    return allowed;
}

void Engine::follow_state(std::uint32_t port, PortState shown) {
    if (shown == PortState::kInit) {
        initialize_port(port);
        return;
    }
    state(port).follow(shown);
    apply_state(port);
}

/// Drops all packets that wait at a port.
void Engine::flush(std::uint32_t port) {
    Tx& tx = plant_.tx(port);
    while (tx.waiting != 0) {
        const auto vl = static_cast<std::uint8_t>(std::countr_zero(tx.waiting));
        ++plant_.odd(port).inactive_discards;
        discard(pop_head(port, tx, vl, plant_.lane(port, vl)));
    }
    end_wait(tx);
}

void Engine::set_link(std::uint32_t port, bool up) {
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
        apply_state(end);
        plant_.rx(end).special |= rx_special::kFlapped;
        cables_.cut_off(end, now());
        flush(end);
    }
}

void Engine::retrain(std::uint32_t port, TimePs takes) {
    SOFTIB_CHECK(plant_.connected(port) && plant_.peer(port) != port);
    for (const std::uint32_t end : {port, plant_.peer(port)}) {
        if (state(end).physical() != PortPhysicalState::kLinkUp) {
            continue;
        }
        state(end).handle_many_errors();
        // Packets on the cable are lost; packets that wait go on waiting.
        plant_.rx(end).special |= rx_special::kFlapped;
        cables_.cut_off(end, now());
        plant_.tx(end).free_at = std::max(plant_.tx(end).free_at, now() + takes);
        train(end, takes);
    }
}

/// Schedules the end of a port's training, which does not count if another training begins before.
void Engine::train(std::uint32_t port, TimePs takes) {
    const std::uint32_t training = cables_.begin_training(port);
    if (takes == 0) {
        end_training(port, training);
    } else {
        schedule_.post(now() + takes, port, EventKind::kTrained, kNone, training);
    }
}

void Engine::end_training(std::uint32_t port, std::uint32_t training) {
    if (cables_.end_training(port, training)) {
        apply_state(port);
    }
}

void Engine::set_node(std::uint32_t node, bool alive) {
    for (std::uint8_t number = 1; number < plant_.ports_of(node); ++number) {
        if (const std::uint32_t port = plant_.port_of(node, number); plant_.connected(port)) {
            set_link(port, alive);
        }
    }
}

void Engine::set_errors(std::uint32_t port, const CableErrors& errors) {
    cables_.set_errors(port, errors);
    const bool looks = errors.all() != 0 || border_.crosses(port) || ethernet_ != nullptr;
    std::uint8_t& special = plant_.tx(port).special;
    special = static_cast<std::uint8_t>(looks ? special | tx_special::kFaulty
                                              : special & ~tx_special::kFaulty);
}

std::uint16_t Engine::steal_credits(std::uint32_t port, std::uint8_t vl, std::uint16_t blocks) {
    Lane& from = plant_.lane(port, vl);
    from.absorb(from.grid(now()));
    const std::uint16_t taken = std::min(blocks, link::credits(from.fctbs, from.fccl));
    from.fccl = link::count_after(from.fccl, link::kCountMask + 1U - taken);
    return taken;
}

/// The HCA stays slow for good, by a picosecond a packet: later packets must not overtake those
/// that wait now.
void Engine::set_slow(std::uint32_t port, std::uint32_t block_ps) {
    cables_.set_slow(plant_.peer(port), block_ps);
    plant_.rx(plant_.peer(port)).special |= rx_special::kSlow;
}

void Engine::pause(std::uint32_t port, TimePs until) {
    cables_.pause(plant_.peer(port), until);
    plant_.rx(plant_.peer(port)).special |= rx_special::kSlow;
}

void Engine::set_delay(std::uint32_t port, std::uint32_t extra_ps) {
    plant_.tx(port).delay_ps += cables_.change_delay(port, extra_ps);
}

void Engine::set_speed(std::uint32_t port, std::uint32_t block_ps) {
    for (const std::uint32_t end : {port, plant_.peer(port)}) {
        plant_.tx(end).block_ps = block_ps;
        plant_.rx(end).block_ps = block_ps;
    }
}

}  // namespace softib::net
