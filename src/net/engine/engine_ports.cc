// SPDX-License-Identifier: BSD-2-Clause
// Cables that come and go, and the states of the ports at their ends (core/link/port_state.h).
// apply_state() puts what a port may send and receive into flags, so that an active port costs
// nothing.
#include <algorithm>
#include <bit>

#include "core/base/check.h"
#include "net/engine/engine.h"

namespace softib::net {

namespace {

link::PortStateMachine initialized() {
    link::PortStateMachine state;
    state.handle_other_end_found();
    state.handle_trained();
    return state;
}

void activate(link::PortStateMachine& state) {
    state.set_logical(PortState::kArmed);
    state.set_logical(PortState::kActive);
}

}  // namespace

/// Makes the states when first called: all ports are active then.
link::PortStateMachine& Engine::state(std::uint32_t port) {
    if (states_.empty()) {
        link::PortStateMachine active = initialized();
        activate(active);
        states_.resize(port_count(), active);
        trainings_.resize(port_count());
        downed_at_.resize(port_count());
    }
    return states_[port];
}

/// Sets the flags of a port by its state, for packets that go out and come in.
void Engine::apply_state(std::uint32_t port) {
    const link::PortStateMachine& now_in = state(port);
    std::uint8_t& out = tx_[port].special;
    std::uint8_t& in = rx_[peer(port)].special;
    const auto set = [](std::uint8_t& flags, std::uint8_t flag, bool on) {
        flags = static_cast<std::uint8_t>(on ? flags | flag : flags & ~flag);
    };
    set(out, tx_special::kDown, !now_in.may_send(link::kVl15));
    set(out, tx_special::kClosed, !now_in.may_send(0));
    set(in, rx_special::kGuarded, now_in.logical() != PortState::kActive);
}

/// Returns whether a port takes a packet in its state. Data makes an armed port active (IBA vol. 1,
/// 7.2.7).
bool Engine::may_come_in(const Rx& rx, const Packet& packet) {
    link::PortStateMachine& at = state(rx.self);
    if (packet.in_vl != link::kVl15 && at.logical() == PortState::kArmed) {
        at.handle_data();
        apply_state(rx.self);
    }
    return at.may_receive(packet.in_vl);
}

void Engine::manage_ports() {
    managed_ = true;
    for (std::uint32_t port = 0; port < port_count(); ++port) {
        if (connected(port) && peer(port) != port) {
            state(port) = initialized();
            apply_state(port);
        }
    }
}

void Engine::initialize_port(std::uint32_t port) {
    link::PortStateMachine& port_state = state(port);
    if (port_state.physical() == PortPhysicalState::kTraining ||
        port_state.logical() == PortState::kInit) {
        return;
    }
    port_state.set_physical(PortPhysicalState::kPolling);
    port_state.handle_other_end_found();
    port_state.handle_trained();
    apply_state(port);
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

void Engine::set_arbitration(std::uint32_t port, const link::ArbitrationTable& table) {
    Plant::set_arbitration(port, table);
    if (tx_[port].waiting != 0) {
        plan(port, tx_[port], std::max(tx_[port].free_at, now()));
    }
}

/// Drops all packets that wait at a port.
void Engine::flush(std::uint32_t port) {
    Tx& tx = tx_[port];
    while (tx.waiting != 0) {
        const auto vl = static_cast<std::uint8_t>(std::countr_zero(tx.waiting));
        ++odd(port).inactive_discards;
        discard(pop_head(tx, vl, lane(port, vl)));
    }
    end_wait(tx);
}

void Engine::set_link(std::uint32_t port, bool up) {
    SOFTIB_CHECK(connected(port) && peer(port) != port);
    if (up == (state(port).physical() != PortPhysicalState::kPolling)) {
        return;
    }
    for (const std::uint32_t end : {port, peer(port)}) {
        ++trainings_[end];
        if (up) {
            state(end).handle_other_end_found();
            train(end, config_.training_ps);
            continue;
        }
        state(end).handle_lost();
        apply_state(end);
        rx_[end].special |= rx_special::kFlapped;
        downed_at_[end] = now();
        flush(end);
    }
}

void Engine::retrain(std::uint32_t port, TimePs takes) {
    SOFTIB_CHECK(connected(port) && peer(port) != port);
    for (const std::uint32_t end : {port, peer(port)}) {
        if (state(end).physical() != PortPhysicalState::kLinkUp) {
            continue;
        }
        state(end).handle_many_errors();
        // Packets on the cable are lost; packets that wait go on waiting.
        rx_[end].special |= rx_special::kFlapped;
        downed_at_[end] = now();
        tx_[end].free_at = std::max(tx_[end].free_at, now() + takes);
        ++trainings_[end];
        train(end, takes);
    }
}

/// Schedules the end of a port's training, which does not count if another training begins before.
void Engine::train(std::uint32_t port, TimePs takes) {
    if (takes == 0) {
        end_training(port, trainings_[port]);
    } else {
        post(now() + takes, port, EventKind::kTrained, kNone, trainings_[port]);
    }
}

void Engine::end_training(std::uint32_t port, std::uint32_t training) {
    if (training != trainings_[port]) {
        return;
    }
    link::PortStateMachine& port_state = state(port);
    if (port_state.physical() == PortPhysicalState::kLinkErrorRecovery) {
        port_state.handle_recovered();
    } else {
        port_state.handle_trained();
        if (!managed_) {
            activate(port_state);
        }
    }
    apply_state(port);
}

void Engine::set_node(std::uint32_t node, bool alive) {
    for (std::uint8_t number = 1; number < ports_of(node); ++number) {
        if (const std::uint32_t port = port_of(node, number); connected(port)) {
            set_link(port, alive);
        }
    }
}

}  // namespace softib::net
