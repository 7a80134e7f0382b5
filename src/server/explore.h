// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers requests that need a running softib fabric: paths by its forwarding tables, trees of
// multicast groups and SHARP jobs, partitions, programs, and how routes would change without a
// cable or a switch. Each request reads the fabric anew; nothing is cached.
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

    /// Returns whether requests for /api/v1/WHAT are answered here.
    static bool knows(std::string_view what);
    /// Answers /api/v1/WHAT[/NAME]. Returns std::nullopt if the request is not answered here.
    std::optional<Response> handle(const Request& request, std::string_view what,
                                   std::string_view name) const;

  private:
    std::string dir_;
};

}  // namespace softib::server
