// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The management plane inside virtual time: agents at every node, our manager on a switch, and
// their MADs as packets on VL15 or on data lanes, with the delays, limits and faults of the fabric
// they manage. Nodes begin as at power-up: no LIDs, no routes, ports in Initialize. What a manager
// writes into a node is what the plant then does.

#include <concepts>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/agent/arrival.h"
#include "core/agent/mad_dispatcher.h"
#include "core/agent/mesh.h"
#include "core/agent/pma.h"
#include "core/link/injection.h"
#include "core/sm/service/subnet_service.h"
#include "core/topo/graph.h"
#include "net/engine/network.h"

namespace softib::net {

class Management : public agent::CounterSource {
    /// Packet::tag of MADs.
  public:
    static constexpr std::uint8_t kTag = 1;
    /// What timer() gets for timers of the management plane.
    static constexpr std::uint32_t kTimer = UINT32_MAX;
    static constexpr std::uint16_t kPacketBytes = 290;  ///< LRH, BTH, DETH, MAD and both CRCs.

    /// Puts the manager on the first switch, or on the first node if there is none. Sets the port
    /// of `config` itself.
    Management(const topo::Fabric& fabric, sm::ManagerConfig config);

    /// Puts all ports into Initialize and starts the manager.
    void start(Engine& engine);
    void deliver(Engine& engine, std::uint32_t port, const Packet& packet);
    void timer(Engine& engine);
    void dropped(const Packet& packet) { free_bodies_.push_back(packet.body); }

    /// Takes a cable down or brings it back: the ports at its ends see it and report it.
    void set_link(Engine& engine, std::uint32_t port, bool up);
    /// Sends a MAD from QP0 or QP1 of a node's port (of a switch: port 0).
    void send(Engine& engine, agent::End from, mad::Packet packet);
    /// An HCA's port whose congestion settings a manager has written, and their present values.
    struct Written {
        std::uint32_t port;
        link::InjectionControl control;
    };
    /// Returns the next port whose congestion settings were written; std::nullopt if there is none.
    std::optional<Written> poll_injection();
    /// Returns the next MAD that came to an HCA and that neither an agent nor our manager takes;
    /// std::nullopt if there is none.
    std::optional<agent::Delivery> poll_delivery();

    sm::SubnetService& service() { return service_; }
    agent::Mesh& nodes() { return nodes_; }
    agent::NodeId root() const { return root_; }
    Lid lid(std::uint32_t node) const;
    std::uint64_t mads() const { return mads_; }  ///< MADs put on a cable.
    /// Returns the P_Key of a MAD on its way, for the guards of switches.
    PKey pkey_of(const Packet& packet) const { return bodies_[packet.body].pkey; }
    /// Returns how many MADs are on their way.
    std::size_t travelling() const { return bodies_.size() - free_bodies_.size(); }

    counters::PortCounts read(std::uint32_t node, std::uint8_t port) override;
    counters::LaneCounts read_lanes(std::uint32_t node, std::uint8_t port) override;

  private:
    /// Sends on what a node makes of a MAD that came to it, then applies what the MAD has changed
    /// in the node to the plant.
    void go_on(Engine& engine, agent::NodeId id, agent::Onward onward, const mad::Packet& packet);
    void serve(Engine& engine, const agent::Delivery& delivery);
    void put(Engine& engine, std::uint32_t port, const mad::Packet& packet, Lid dlid);
    /// Applies what was written into a node to the plant.
    void follow(Engine& engine, agent::NodeId node);
    struct Follower;
    void follow(Engine& engine, agent::NodeId node, const agent::PlaneUpdate& update);
    /// Sends what the manager and the nodes have to send, and sets the next timer.
    void pump(Engine& engine);
    static std::uint64_t now_ns(const Engine& engine);

    agent::Mesh nodes_;
    agent::Arrival arrival_;
    agent::NodeId root_ = 0;
    sm::SubnetService service_;
    agent::MadDispatcher dispatcher_;
    agent::MadToken manager_;   ///< Our manager, as the dispatcher knows it.
    agent::MadToken programs_;  ///< All programs on HCAs, as the dispatcher knows them.
    const Engine* counted_ = nullptr;
    std::vector<mad::Packet> bodies_;
    std::vector<std::uint32_t> free_bodies_;
    std::vector<Written> written_;
    std::uint64_t due_ns_ = UINT64_MAX;  ///< When the timer that is set runs out.
    std::uint64_t mads_ = 0;
};

/// Data traffic that can share a fabric with the management plane: ends that know the P_Keys of
/// their packets and take what a congestion manager writes.
template <typename D>
concept ManagedData = Ends<D> && !Hears<D, hears::kTapped> && !Hears<D, hears::kRefused> &&
                      requires(D& data, const Packet& packet, std::uint32_t port,
                               const link::InjectionControl& control) {
                          { data.pkey_of(packet) } -> std::same_as<PKey>;
                          { data.control_congestion(port, control) } -> std::same_as<void>;
                      };

/// Ends of a network that have data traffic of some kind (`Data`) and the management plane.
template <ManagedData Data>
class Managed : public KeyReader {
  public:
    static constexpr unsigned kHears = hears::kCopied | hears::kDropped;

    template <typename... Arguments>
    Managed(const topo::Fabric& fabric, sm::ManagerConfig config, Arguments&&... arguments)
        : data(std::forward<Arguments>(arguments)...), management(fabric, std::move(config)) {}

    PKey pkey_of(const Packet& packet) const override {
        return packet.tag == Management::kTag ? management.pkey_of(packet) : data.pkey_of(packet);
    }
    void start(Engine& engine) {
        engine.set_key_reader(this);
        management.start(engine);
    }

    void deliver(Engine& engine, std::uint32_t port, const Packet& packet) {
        if (packet.tag == Management::kTag) {
            management.deliver(engine, port, packet);
            while (const auto written = management.poll_injection()) {
                data.control_congestion(written->port, written->control);
            }
        } else {
            data.deliver(engine, port, packet);
        }
    }
    void sent(Engine& engine, std::uint32_t port, const Packet& packet) {
        if (packet.tag != Management::kTag) {
            data.sent(engine, port, packet);
        }
    }
    void timer(Engine& engine, std::uint32_t port, std::uint32_t what) {
        if (what == Management::kTimer) {
            management.timer(engine);
        } else {
            data.timer(engine, port, what);
        }
    }
    void copied(Engine& engine, const Packet& packet, std::uint32_t more) {
        if constexpr (Hears<Data, hears::kCopied>) {
            if (packet.tag != Management::kTag) {
                data.copied(engine, packet, more);
            }
        }
    }
    void dropped(Engine& engine, const Packet& packet, TimePs at) {
        if (packet.tag == Management::kTag) {
            management.dropped(packet);
        } else if constexpr (Hears<Data, hears::kDropped>) {
            data.dropped(engine, packet, at);
        }
    }

    Data data;
    Management management;
};

}  // namespace softib::net
