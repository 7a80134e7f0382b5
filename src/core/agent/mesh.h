// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Nodes and the cables between them, over which MADs pass in no time. The daemon of a live fabric
// runs on a mesh: a MAD that a program or a manager sends from QP0 or QP1 of a node is forwarded
// hop by hop by the tables of the nodes on its way. Agents answer at once; a MAD that no agent
// answers comes out at poll_delivery(). A MAD only gets to where the tables lead.

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <vector>

#include "core/agent/arrival.h"
#include "core/agent/end.h"
#include "core/agent/node.h"
#include "core/agent/pma.h"
#include "core/mad/packet.h"

namespace softib::agent {

/// A MAD that a port sends.
struct Departure {
    End from;
    mad::Packet packet;
};

/// A MAD on its way over a trunk, to or from a fabric that is not in this mesh.
struct Outbound {
    NodeId node = kNoNode;  ///< The node that stands for the far end of the trunk: set_outside().
    bool by_lid = false;    ///< Whether it is forwarded by LID; else by its directed route.
    mad::Packet packet;
};

/// A write that a node has accepted.
struct NodeUpdate {
    NodeId node = kNoNode;
    PlaneUpdate update;
};

/// A packet on a cable, as the port at its end sees it.
struct Passage {
    End from;
    End to;
    std::uint8_t vl = 0;
    bool directed = false;  ///< Whether it goes by its directed route; else by LID.
    const mad::Packet& packet;
};

/// Sees each packet that passes a cable, and may lose it. A mesh without one loses nothing.
class Cables {
  public:
    virtual ~Cables() = default;
    /// Returns whether the packet arrives.
    virtual bool passes(const Passage& passage) = 0;
};

class Mesh {
  public:
    /// `counters` must outlive the mesh.
    explicit Mesh(CounterSource& counters) : arrival_(counters) {}

    /// Lets `cables`, which must outlive the mesh, see and lose packets.
    void set_cables(Cables* cables) { cables_ = cables; }

    NodeId add(NodeSpec spec);
    /// Plugs a cable between two ports and trains its link.
    void connect(End a, End b);

    std::size_t size() const { return nodes_.size(); }
    Node& node(NodeId id) { return nodes_[id].node; }
    const Node& node(NodeId id) const { return nodes_[id].node; }
    End peer(End end) const { return nodes_[end.node].peers[end.port]; }
    bool powered(NodeId id) const { return nodes_[id].powered; }
    bool plugged(End end) const { return nodes_[end.node].plugged[end.port]; }

    /// Lets a node stand for the far end of a trunk, and pulls its cable until set_plugged(). The
    /// node answers nothing; MADs that come to it come out at poll_outbound().
    void set_outside(NodeId id);
    /// Takes a MAD that came in over a trunk and forwards it as if it had come over a cable. The
    /// MAD may be forged: everything in it is checked.
    void arrive(const Outbound& inbound, std::uint64_t now_ns);
    std::optional<Outbound> poll_outbound();

    /// Pulls the cable at a port, or puts it back.
    void set_plugged(End end, bool plugged);
    /// Turns a node off or on. A node that is turned on has forgotten all that was written into it.
    void set_powered(NodeId id, bool powered);

    // Changes to a node that do not come from its manager; see the functions of Node.
    /// Writes into a switch's forwarding table without its manager's knowledge.
    void set_route(NodeId id, Lid lid, std::uint8_t port);
    /// Writes into a port's P_Key table without its manager's knowledge.
    void set_pkey(End end, std::uint16_t index, PKey pkey);
    void link_fault(End end, std::uint16_t trap);
    void set_system_image_guid(NodeId id, Guid guid);
    void set_capability(End end, std::uint32_t bit, bool on);
    void bad_key(End at, const wire::BadKeyTrap& seen, bool is_qkey, std::uint16_t packets);
    void add_violations(End at, std::uint64_t pkeys, std::uint64_t qkeys);
    /// Counts packets that a switch port discards by their P_Key, and raises the trap. `packets` is
    /// 0 if the caller has counted them already.
    void refuse_passage(End at, bool inbound, const wire::BadSwitchPKeyTrap& seen,
                        std::uint64_t packets);

    /// Sends a MAD from QP0 or QP1 of a port (port 0 of a switch).
    void send(End from, const mad::Packet& packet, std::uint64_t now_ns);
    /// Sends the traps that are due. Returns the time at which it must be called again.
    std::uint64_t advance(std::uint64_t now_ns);

    // For callers that move the nodes' MADs themselves, in packets that take time.
    /// Collects the updates and traps of a node for poll_update() and take_traps(). The caller must
    /// call this after it has changed the node through node().
    void settle(NodeId id);
    /// Returns the traps that are due, each of which the caller must send from its node.
    std::vector<Departure> take_traps(std::uint64_t now_ns);
    /// Returns when take_traps() will next return a trap; UINT64_MAX if no trap is pending.
    std::uint64_t next_trap_ns() const;

    /// Returns the next MAD for a service or program on a node; std::nullopt if there is none.
    std::optional<Delivery> poll_delivery();
    /// Returns the next write that a node has accepted; std::nullopt if there is none.
    std::optional<NodeUpdate> poll_update();

    /// Returns the port to which the tables lead a packet with this DLID; std::nullopt if a table
    /// or a link that is down stops it.
    std::optional<End> route(End from, Lid dlid, bool on_vl15) const;

  private:
    struct Entry {
        Node node;
        std::vector<End> peers;     ///< By port: the other end of its cable.
        std::vector<bool> plugged;  ///< By port: whether its cable is plugged.
        bool powered = true;
        bool outside = false;
    };
    /// A switch port that discarded a packet by its P_Key.
    struct Refusal {
        End at;
        bool inbound = false;
    };
    class Way;

    bool can_send(End from, bool on_vl15) const;
    /// Moves a MAD that a node has handled to where it goes on, and its answer to where that ends.
    void carry(NodeId id, Onward onward, mad::Packet& packet, std::uint64_t now_ns);
    /// Returns the port at which a node next handles the MAD; std::nullopt if none does.
    std::optional<End> go_on(NodeId id, Onward onward, const mad::Packet& packet);
    std::optional<End> go_out(End from, const mad::Packet& packet);
    std::optional<End> go_by_lid(End from, const mad::Packet& packet);
    std::optional<End> walk(End from, Lid dlid, bool on_vl15, const mad::Packet* packet,
                            std::optional<Refusal>& refused) const;
    /// Returns the far end of the cable at `from`; std::nullopt if the cable loses the packet,
    /// which had come into the node by port `in`.
    std::optional<End> pass_cable(End from, std::uint8_t in, const mad::Packet* packet,
                                  bool on_vl15, bool directed) const;
    /// Moves a node's updates to poll_update(). Returns the external ports whose PortInfo changed.
    std::vector<std::uint8_t> hand_on_updates(NodeId id);
    void train(End end);

    Arrival arrival_;
    Cables* cables_ = nullptr;
    std::vector<Entry> nodes_;
    std::deque<Delivery> deliveries_;
    std::deque<NodeUpdate> updates_;
    std::deque<Outbound> outbound_;
    std::set<NodeId> trapping_;
};

}  // namespace softib::agent
