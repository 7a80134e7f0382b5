// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Guards check the P_Keys of packets at a switch's ports (IBA vol. 1, 18.2.4.2.1).

#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/link/arbiter.h"
#include "core/switch/forward.h"
#include "net/plant/packet.h"

namespace softib::net {

/// The P_Keys that a port of a switch lets in and out.
struct Guard {
    bool in = false;   ///< Packets that come in are checked.
    bool out = false;  ///< Packets that go out are checked.
    std::vector<PKey> pkeys;
};

/// Reads the P_Key of a packet, for guards: the engine's own Packet has none.
class KeyReader {
  public:
    virtual ~KeyReader() = default;
    virtual PKey pkey_of(const Packet& packet) const = 0;
};

class Guards {
  public:
    explicit Guards(std::uint32_t ports) : ports_(ports) {}

    /// Sets who knows the P_Keys of packets; must outlive the guards. Without one, all pass.
    void set_reader(const KeyReader* reader) { reader_ = reader; }
    void set(std::uint32_t port, const Guard& guard) {
        guards_.resize(ports_);
        guards_[port] = guard;
    }
    Guard at(std::uint32_t port) const { return guards_.empty() ? Guard{} : guards_[port]; }
    /// Returns whether a port checks packets in any direction.
    bool checks(std::uint32_t port) const {
        return !guards_.empty() && (guards_[port].in || guards_[port].out);
    }
    /// Returns whether a port that has a guard lets a packet in. A packet is checked when it comes
    /// in, and not again while it waits in a queue.
    bool lets_in(std::uint32_t port, const Packet& packet) const {
        return lets_pass(guards_[port].in, guards_[port], packet);
    }
    bool lets_out(std::uint32_t port, const Packet& packet) const {
        return lets_pass(guards_[port].out, guards_[port], packet);
    }

  private:
    bool lets_pass(bool enforced, const Guard& guard, const Packet& packet) const {
        return !enforced || packet.in_vl == link::kVl15 || reader_ == nullptr ||
               sw::lets_pass(true, guard.pkeys, reader_->pkey_of(packet));
    }

    std::uint32_t ports_;
    std::vector<Guard> guards_;  ///< By port; empty until needed.
    const KeyReader* reader_ = nullptr;
};

}  // namespace softib::net
