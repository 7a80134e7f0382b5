// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads a running fabric of ours: the daemon settles the totals, the arena has them. The daemon
// does nothing else for it, so that telemetry costs programs nothing.
//
// Thread rule: one thread.

#include "runtime/shm/arena.h"
#include "telemetry/source.h"

namespace softib::telemetry {

class ArenaSource final : public Source {
  public:
    /// The directory of the fabric, which need not be up yet.
    explicit ArenaSource(std::string dir);
    ~ArenaSource() override;

    std::expected<Reading, std::string> read() override;
    std::string name() const override;
    Pace pace() const override { return Pace::kQuick; }

  private:
    std::expected<void, std::string> connect();
    void disconnect();
    std::vector<Notice> take_notices();

    std::string dir_;
    live::Arena arena_{};
    int daemon_ = -1;
    std::uint64_t instance_ = 0;     ///< Of the arena that the inventory is of.
    std::uint64_t generation_ = 0;   ///< Of its routes.
    std::uint64_t next_notice_ = 0;  ///< The first that was not taken yet.
    std::shared_ptr<const Inventory> inventory_;
};

/// Makes the inventory of an arena.
Inventory read_inventory(const live::Arena& arena);
/// Reads states and settled totals of the ports of that inventory.
Sample read_sample(const live::Arena& arena);

}  // namespace softib::telemetry
