// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Nodes and the cables between them, over which management packets pass in no time. The live
// fabric runs on it: what a program or a manager sends from a node's QP0 or QP1 goes hop by hop
// by the tables of the nodes on its way, agents answer at once, and what no agent answers comes
// out at poll_delivery(). Nothing is reached that the tables do not lead to.

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

/// On its way over a trunk, from or to a fabric that is not in this mesh.
struct Outbound {
    NodeId node = kNoNode;  ///< Which of those that stand for the outside.
    bool by_lid = false;    ///< Else by its directed route.
    mad::Packet packet;
};

struct NodeUpdate {
    NodeId node = kNoNode;
    PlaneUpdate update;
};

/// A packet on a cable, as the port at its end sees it.
struct Passage {
    End from;
    End to;
    std::uint8_t vl = 0;
    bool directed = false;  ///< By the ports that it names; else by LID.
    const mad::Packet& packet;
};

/// What happens between ports; with none nothing does.
class Cables {
  public:
    virtual ~Cables() = default;
    /// Whether the packet arrives.
    virtual bool passes(const Passage& passage) = 0;
};

class Mesh {
  public:
    /// `counters` outlives the mesh.
    explicit Mesh(CounterSource& counters) : arrival_(counters) {}

    /// They outlive the mesh.
    void set_cables(Cables* cables) { cables_ = cables; }

    NodeId add(NodeSpec spec);
    void connect(End a, End b);

    std::size_t size() const { return nodes_.size(); }
    Node& node(NodeId id) { return nodes_[id].node; }
    const Node& node(NodeId id) const { return nodes_[id].node; }
    End peer(End end) const { return nodes_[end.node].peers[end.port]; }
    bool powered(NodeId id) const { return nodes_[id].powered; }
    bool plugged(End end) const { return nodes_[end.node].plugged[end.port]; }

    /// The node stands for what is at the far end of a trunk, which is not there until its cable is
    /// plugged: it answers nothing, and what comes to it comes out at poll_outbound().
    void set_outside(NodeId id);
    /// What came in over a trunk goes on as from a cable. Nothing of it is taken for granted.
    void arrive(const Outbound& inbound, std::uint64_t now_ns);
    std::optional<Outbound> poll_outbound();

    /// Pulls a cable or puts it back; kills a node or wakes it, forgetful.
    void set_plugged(End end, bool plugged);
    void set_powered(NodeId id, bool powered);

    /// Writes into a node's tables behind its manager's back.
    void set_route(NodeId id, Lid lid, std::uint8_t port);
    void set_pkey(End end, std::uint16_t index, PKey pkey);
    void link_fault(End end, std::uint16_t trap);
    void set_system_image_guid(NodeId id, Guid guid);
    void set_capability(End end, std::uint32_t bit, bool on);
    void bad_key(End at, const wire::BadKeyTrap& seen, bool is_qkey, std::uint16_t packets);
    void add_violations(End at, std::uint64_t pkeys, std::uint64_t qkeys);
    /// What a switch does about packets whose partition may not pass its port. 0 packets: whoever
    /// moves them has counted them.
    void refuse_passage(End at, bool inbound, const wire::BadSwitchPKeyTrap& seen,
                        std::uint64_t packets);

    /// Sends from QP0 or QP1 of a port (of a switch: port 0).
    void send(End from, const mad::Packet& packet, std::uint64_t now_ns);
    /// Sends the traps that are due; returns when it wants to be called again.
    std::uint64_t advance(std::uint64_t now_ns);

    // For those who carry the nodes' MADs themselves, by packets that take time.
    /// After anything was done to a node: poll_update() has what was written into it, and
    /// take_traps() its traps.
    void settle(NodeId id);
    /// The traps that are due, each to be sent from its node.
    std::vector<Departure> take_traps(std::uint64_t now_ns);
    /// When take_traps() next has something; UINT64_MAX: never, as things are.
    std::uint64_t next_trap_ns() const;

    std::optional<Delivery> poll_delivery();
    std::optional<NodeUpdate> poll_update();

    /// Where a packet to this LID ends; nothing where the tables or a link stop it.
    std::optional<End> route(End from, Lid dlid, bool on_vl15) const;

  private:
    struct Entry {
        Node node;
        std::vector<End> peers;     ///< By port.
        std::vector<bool> plugged;  ///< By port.
        bool powered = true;
        bool outside = false;
    };
    /// The switch port that let a packet not pass.
    struct Refusal {
        End at;
        bool inbound = false;
    };
    class Way;

    bool can_send(End from, bool on_vl15) const;
    /// A node has looked at a MAD: carries what goes on from there to its end.
    void carry(NodeId id, Onward onward, mad::Packet& packet, std::uint64_t now_ns);
    /// Returns where the MAD next comes to a node that looks at it; nothing: nowhere.
    std::optional<End> go_on(NodeId id, Onward onward, const mad::Packet& packet);
    std::optional<End> go_out(End from, const mad::Packet& packet);
    std::optional<End> go_by_lid(End from, const mad::Packet& packet);
    std::optional<End> walk(End from, Lid dlid, bool on_vl15, const mad::Packet* packet,
                            std::optional<Refusal>& refused) const;
    /// From a port of the node that it came into by `in`, over the cable there, unless it is lost.
    std::optional<End> pass_cable(End from, std::uint8_t in, const mad::Packet* packet,
                                  bool on_vl15, bool directed) const;
    /// Returns the ports whose PortInfo was written.
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
