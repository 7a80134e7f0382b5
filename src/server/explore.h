// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers what only a fabric of ours can tell: paths by its forwarding tables, trees of multicast
// groups and SHARP jobs, partitions, programs, and what would become of routes without a cable or a
// switch. Each request looks at the fabric anew; nothing is kept.
//
// Thread rule: any thread may call anything.

#include <optional>
#include <string>
#include <string_view>

#include "server/http.h"

namespace softib::server {

class Explore {
  public:
    explicit Explore(std::string dir) : dir_(std::move(dir)) {}

    /// Whether requests for /api/v1/WHAT are answered here.
    static bool knows(std::string_view what);
    /// Answers /api/v1/WHAT[/NAME]; std::nullopt: it is none of these.
    std::optional<Response> handle(const Request& request, std::string_view what,
                                   std::string_view name) const;

  private:
    std::string dir_;
};

}  // namespace softib::server
