// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Maps GPU memory of a peer, by the handle or descriptor that its owner exported.

#include "runtime/direct/memory/gpu/engine.h"
#include "runtime/direct/memory/mappings.h"

namespace softib::direct::gpu {

class GpuMapper : public Mapper {
  public:
    GpuMapper(Engine& engine, const shm::Arena& arena) : engine_(engine), arena_(arena) {}

    void make(shm::Owner owner, const shm::PeerPiece& piece, Mapping& mapping) override;
    void unmake(Mapping& mapping) override;

  private:
    bool make_from_descriptor(shm::Owner owner, const shm::PeerPiece& piece, int device,
                              Mapping& mapping);

    Engine& engine_;
    const shm::Arena& arena_;
};

}  // namespace softib::direct::gpu
