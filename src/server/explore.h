// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers requests that need a running softib fabric: paths by its forwarding tables, trees of
// multicast groups and SHARP jobs, partitions, programs, and how routes would change without a
// cable or a switch. Each request reads the fabric anew; nothing is cached.
//
// Thread rule: any thread may call anything.

#include <functional>
#include <string>
#include <vector>

#include "server/route.h"

namespace softib::shm {
struct Arena;
}

namespace softib::server {

class Explore {
  public:
    /// `dir`: the directory of a softib fabric; empty: there is none, and each request is told so.
    explicit Explore(std::string dir) : dir_(std::move(dir)) {}

    std::vector<Route> routes() const;

  private:
    using Answer = std::function<Response(const shm::Arena&, int daemon, const Call&)>;
    /// Returns a handler that maps the fabric's arena, and answers by `answer`.
    Handler with_fabric(Answer answer) const;

    std::string dir_;
};

}  // namespace softib::server
