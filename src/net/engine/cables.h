// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What befalls cables and the ports at their ends: states (core/link/port_state.h), losses, delays,
// and HCAs that are slow. Everything is empty until the first of its kind happens.

#include <cstdint>
#include <vector>

#include "core/link/port_state.h"
#include "net/plant/packet.h"

namespace softib::net {

/// How many of the packets that a port sends are spoiled, in parts per million.
struct CableErrors {
    std::uint32_t lost_ppm = 0;
    std::uint32_t broken_ppm = 0;
    std::uint32_t inside_ppm = 0;  ///< Broken in the sender's memory: only their ICRC tells.
    std::uint64_t seed = 0;

    std::uint32_t all() const { return lost_ppm + broken_ppm + inside_ppm; }
};

class Cables {
  public:
    explicit Cables(std::uint32_t ports) : ports_(ports) {}

    // States.
    /// Returns whether all ports have always been active.
    bool all_active() const { return states_.empty(); }
    /// Returns the state of a port. Ports begin active.
    link::PortStateMachine& state(std::uint32_t port);
    bool link_up(std::uint32_t port) const {
        return states_.empty() || states_[port].physical() == PortPhysicalState::kLinkUp;
    }
    std::uint32_t downed(std::uint32_t port) const {
        return states_.empty() ? 0 : states_[port].downed();
    }
    std::uint32_t recovered(std::uint32_t port) const {
        return states_.empty() ? 0 : states_[port].recovered();
    }
    /// Puts a port into Initialize. From now on ports also stay there after a training, until a
    /// manager moves them on.
    void initialize(std::uint32_t port);
    /// Puts a port into Initialize as if its cable came up again. Returns false, with nothing
    /// changed, if it is there or in training.
    bool initialize_again(std::uint32_t port);
    /// Notes that the cable at a port begins to train, or no longer does. Returns the number of
    /// the training.
    std::uint32_t begin_training(std::uint32_t port) {
        state(port);
        return ++trainings_[port];
    }
    /// Moves a port on. Returns false, with nothing changed, if another training has begun since.
    bool end_training(std::uint32_t port, std::uint32_t training);
    /// Notes that what is on the cable to a port is lost.
    void cut_off(std::uint32_t port, TimePs now) {
        state(port);
        downed_at_[port] = now;
    }
    /// Returns whether a packet that was sent at `sent_at` was on its cable when that went down.
    bool was_on(std::uint32_t link, TimePs sent_at) const { return sent_at <= downed_at_[link]; }

    // Losses.
    enum class Fate : std::uint8_t { kFine, kLost, kBroken, kBrokenInside };
    bool no_errors() const { return errors_.empty(); }
    void set_errors(std::uint32_t port, const CableErrors& errors) {
        errors_.resize(ports_);
        errors_[port] = errors;
    }
    /// Returns whether nothing that a port sends arrives.
    bool loses_all(std::uint32_t port) const;
    /// Draws what becomes of a packet that a port sends: its `number`-th. `name`: number of the
    /// link in the whole fabric. So the draw depends on nothing else.
    Fate fate(std::uint32_t port, std::uint64_t number, std::uint32_t name) const;
    /// Sets by how many broken packets may outnumber good ones at a port; 0: any number.
    void set_error_limit(std::uint32_t port, std::uint8_t packets) {
        integrity_.resize(ports_);
        integrity_[port].limit = packets;
    }
    /// Counts a packet that the cable broke; `packets` came to the port before it. When good
    /// packets between the broken ones no longer make up for them, the link has lost its integrity
    /// (IBA vol. 1, 7.12.2): then this returns true.
    bool count_broken(std::uint32_t port, std::uint64_t packets);

    // Delays.
    /// Sets by how much a port's packets take longer. Returns the change, modulo 2^32.
    std::uint32_t change_delay(std::uint32_t port, std::uint32_t extra_ps);
    /// Sets how long the HCA at the end of a link takes for 64 bytes.
    void set_slow(std::uint32_t link, std::uint32_t block_ps);
    /// Makes the HCA at the end of a link handle nothing before `until`.
    void pause(std::uint32_t link, TimePs until);
    /// Returns when a slow HCA will have handled a packet that comes in now, behind those before.
    TimePs handled_at(std::uint32_t link, std::uint16_t bytes, TimePs now);

  private:
    struct Integrity {
        std::uint8_t limit = 0;
        std::uint32_t broken = 0;  ///< One more for each broken packet, one less for a good one.
        std::uint64_t packets_then = 0;  ///< Packets received when `broken` was last updated.
    };
    struct Slow {
        std::uint32_t block_ps = 0;
        TimePs busy_until = 0;
    };

    std::uint32_t ports_;
    bool managed_ = false;  ///< A manager moves ports on from Initialize.
    std::vector<link::PortStateMachine> states_;
    std::vector<std::uint32_t> trainings_;  ///< How many a port has begun or given up.
    std::vector<TimePs> downed_at_;
    std::vector<CableErrors> errors_;
    std::vector<Integrity> integrity_;
    std::vector<std::uint32_t> delays_;
    std::vector<Slow> slow_;  ///< By link to an HCA.
};

}  // namespace softib::net
