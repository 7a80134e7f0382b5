// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Maps GPU memory of a peer, by the handle or descriptor that its owner exported.

#include "runtime/direct/memory/gpu/engine.h"
#include "runtime/direct/memory/mappings.h"

namespace softib::live::gpu {

class GpuMapper : public Mapper {
  public:
    GpuMapper(Engine& engine, const Arena& arena) : engine_(engine), arena_(arena) {}

    void make(Owner owner, const PeerPiece& piece, Mapping& mapping) override;
    void unmake(Mapping& mapping) override;

  private:
    bool make_from_descriptor(Owner owner, const PeerPiece& piece, int device, Mapping& mapping);

    Engine& engine_;
    const Arena& arena_;
};

}  // namespace softib::live::gpu
