// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <utility>

namespace softib::daemon {

/// A part of the daemon that may produce MADs when it is changed. Reading it leaves no mark;
/// change() sets a mark, which tells the daemon that there may be MADs to hand out.
template <typename Part>
class Marked {
  public:
    template <typename... Args>
    explicit Marked(bool& mark, Args&&... args) : part_(std::forward<Args>(args)...), mark_(mark) {}

    const Part* operator->() const { return &part_; }
    /// Returns the part for a change, and sets the mark.
    Part& change() {
        mark_ = true;
        return part_;
    }
    /// Returns the part without setting the mark: for the code that hands out MADs, and for other
    /// parts that refer to this one.
    Part& unmarked() { return part_; }

  private:
    Part part_;
    bool& mark_;
};

}  // namespace softib::daemon
