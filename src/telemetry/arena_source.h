// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Reads a running softib fabric. The daemon brings the totals of ports in the arena up to date
// ("settles" them), and this source reads them from the arena, mapped read-only. Programs on the
// fabric do nothing for it.
//
// Thread rule: one thread.

#include "runtime/shm/arena.h"
#include "telemetry/source.h"
#include "view/checks.h"

namespace softib::telemetry {

class ArenaSource final : public Source {
  public:
    /// `dir`: the directory of the fabric, which need not be up yet.
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
    shm::Arena arena_{};
    int daemon_ = -1;
    std::uint64_t instance_ = 0;     ///< Instance of the arena that inventory_ was made from.
    std::uint64_t generation_ = 0;   ///< Route generation when inventory_ was last compared.
    std::uint64_t next_notice_ = 0;  ///< Number of the first notice that was not read yet.
    std::shared_ptr<const Inventory> inventory_;
};

/// Returns the inventory of the fabric in an arena.
Inventory read_inventory(const shm::Arena& arena);
/// Returns the health of the fabric in an arena, by a single reading: without rates.
std::vector<view::Check> check_now(const shm::Arena& arena);
/// Returns the states and settled totals of all ports, in the order of read_inventory().
Sample read_sample(const shm::Arena& arena);

}  // namespace softib::telemetry
