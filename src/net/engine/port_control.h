// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What may be changed at the ports of an engine at any time: states of ports and cables, faults,
// tables that the packets of a port obey. What changes now acts on what waits.

#include <cstdint>

#include "net/engine/mover.h"

namespace softib::net {

class PortControl {
  public:
    explicit PortControl(Mover& mover)
        : mover_(mover), plant_(mover.plant_), cables_(mover.cables_) {}

    // States. set_link() and retrain() act on both directions of the cable at a port.
    /// Takes a cable down or brings it back. A cable that comes back is trained for a time
    /// (PlantConfig::training_ps). Then its ports are active, or wait for a manager.
    void set_link(std::uint32_t port, bool up);
    /// Makes both ports of a cable train again, as after too many errors. Packets on the cable are
    /// lost; packets that wait for it go on waiting.
    void retrain(std::uint32_t port, TimePs takes);
    /// Takes down all cables of a node, or brings them back.
    void set_node(std::uint32_t node, bool alive);
    /// Puts all ports into Initialize. From now on they also stay there after a training, until a
    /// manager moves them on.
    void manage_all();
    /// Puts a port into Initialize as if its cable came up again, unless it is in training.
    void initialize(std::uint32_t port);
    /// Sets the logical state of a port as a manager asks. Returns false, with nothing changed, if
    /// the port's state does not allow it.
    bool set_logical(std::uint32_t port, PortState wanted);
    /// Brings a port to the state that its agent shows.
    void follow_state(std::uint32_t port, PortState shown);
    /// Returns the state of a port. Ports begin active.
    link::PortStateMachine& state(std::uint32_t port) { return cables_.state(port); }

    // Faults of one port or direction.
    void set_errors(std::uint32_t port, const CableErrors& errors);
    /// Sets by how many broken packets may outnumber good ones at a port before it counts a link
    /// integrity error; 0: any number.
    void set_error_limit(std::uint32_t port, std::uint8_t packets) {
        cables_.set_error_limit(port, packets);
    }
    /// Takes credits from a sender for good; returns how many blocks it had to give.
    std::uint16_t steal_credits(std::uint32_t port, std::uint8_t vl, std::uint16_t blocks);
    /// Makes an HCA take this long for each 64 bytes that came in, one packet after the other.
    void set_slow(std::uint32_t port, std::uint32_t block_ps);
    /// Makes an HCA handle nothing that comes in before `until`.
    void pause(std::uint32_t port, TimePs until);
    /// Makes one direction of a cable take this much longer from now on. Packets under way keep
    /// their times of arrival, so that packets sent after a smaller delay is set may overtake them.
    void set_delay(std::uint32_t port, std::uint32_t extra_ps);
    /// Sets how long both directions of a cable take for 64 bytes.
    void set_speed(std::uint32_t port, std::uint32_t block_ps);

    // What packets of a port obey.
    /// Sets the VL arbitration table of a port: lanes that were in no list may send now.
    void set_arbitration(std::uint32_t port, const link::ArbitrationTable& table);
    void set_limits(std::uint32_t port, const sw::WaitingLimits& limits);
    void set_guard(std::uint32_t port, const Guard& guard);
    /// Shows packets with a tag that come in at a port to the ends, or stops doing so.
    void set_tap(std::uint32_t port, bool tapped);

  private:
    void train(std::uint32_t port, TimePs takes);

    Mover& mover_;
    Plant& plant_;
    Cables& cables_;
};

}  // namespace softib::net
