// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <utility>

namespace softib::live {

/// A part of the daemon that makes MADs when it is changed. Anybody may look at it; a change leaves
/// a mark, by which the daemon knows that there may be MADs to hand out.
template <typename Part>
class Marked {
  public:
    template <typename... Args>
    explicit Marked(bool& mark, Args&&... args) : part_(std::forward<Args>(args)...), mark_(mark) {}

    const Part* operator->() const { return &part_; }
    Part& change() {
        mark_ = true;
        return part_;
    }
    /// For those who hand out MADs, and for parts that know each other.
    Part& unmarked() { return part_; }

  private:
    Part part_;
    bool& mark_;
};

}  // namespace softib::live
