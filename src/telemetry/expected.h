// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What a fabric should have: every node and cable that was there since a change was last accepted.
// A source finds what is there now; what it finds no more is missing, not forgotten.

#include <cstdint>
#include <memory>
#include <vector>

#include "telemetry/inventory.h"

namespace softib::telemetry {

class Expected {
  public:
    /// Takes what a source found. With `anew` it is another fabric, of which nothing is missing.
    void follow(const std::shared_ptr<const Inventory>& found, bool anew);
    /// Takes what is there now for all that should be.
    void accept();

    const Inventory& inventory() const { return *all_; }
    /// Returns the index of a port of inventory() in what was found; kNoIndex: it is missing.
    std::uint32_t found(std::uint32_t port) const;

  private:
    void add_missing();

    std::shared_ptr<const Inventory> found_ = std::make_shared<const Inventory>();
    /// The same object as found_ while nothing is missing.
    std::shared_ptr<const Inventory> all_ = found_;
    std::vector<std::uint32_t> places_;  ///< found() of each port, if something is missing.
};

}  // namespace softib::telemetry
