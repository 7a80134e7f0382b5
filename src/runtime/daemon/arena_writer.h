// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Copies what managers wrote into the nodes of the mesh to the arena, where the data path reads it,
// and raises the asynchronous events of programs' ports.

#include <cstdint>
#include <span>
#include <vector>

#include "core/agent/mesh.h"
#include "runtime/shm/arena.h"
#include "runtime/shm/channel.h"
#include "runtime/shm/types.h"

namespace softib::daemon {

class ArenaWriter {
  public:
    /// `places` has, for each node of the mesh, its place in the arena.
    ArenaWriter(const shm::Arena& arena, shm::ChannelWriter& events,
                std::vector<shm::NodeRef> places)
        : arena_(arena), events_(events), places_(std::move(places)) {}

    /// Copies all changes of the mesh. Returns whether there were any.
    bool apply(agent::Mesh& mesh);

    /// Says whether the HCAs of programs run, which on the packet path needs a carrier. While they
    /// do not, programs see their ports down, whatever state the nodes have.
    void set_adapters_run(const agent::Mesh& mesh, bool run);
    bool adapters_run() const { return adapters_run_; }

    std::span<const shm::NodeRef> places() const { return places_; }
    const shm::NodeRef& place(agent::NodeId id) const { return places_[id]; }

  private:
    /// Returns the state in which programs see a port.
    PortState shown(const wire::PortInfo& info) const;
    struct Follower;
    void write(const agent::Mesh& mesh, const agent::NodeUpdate& entry);
    void write_lft(const agent::Node& node, std::uint32_t index, std::uint16_t block);
    void write_partitions(const agent::Node& node, std::uint32_t index, std::uint8_t port);
    void write_hca(const agent::Node& node, std::uint32_t index);
    void write_ethernet_port(std::uint32_t index, PortState state);
    void write_guids(const agent::Node& node, std::uint32_t index);
    void write_mft(const agent::Node& node, std::uint32_t index, std::uint16_t block);
    void write_switch_port(const agent::Node& node, std::uint32_t index, std::uint8_t port);
    /// Writes the owner of the LIDs of a port.
    void own_lids(std::uint16_t first, std::uint8_t lmc, const shm::NodeRef& owner);
    void raise(std::uint32_t hca, hca::AsyncKind kind);

    const shm::Arena& arena_;
    shm::ChannelWriter& events_;
    std::vector<shm::NodeRef> places_;
    bool adapters_run_ = true;
};

}  // namespace softib::daemon
