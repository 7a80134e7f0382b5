// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Decides which requests are answered at all.
//
// - The Host header must name this server. This stops a page of another site that lets its own name
//   resolve to this machine (DNS rebinding).
// - A request that changes something must not come from a page of another site (CSRF): its Origin,
//   if it has one, must be this server, and its body must be JSON, which a form cannot send.
// - A request that changes something must also have the token, and the server must have been
//   started with --allow-control.
// - If the server listens beyond loopback, every request must have the token.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http.h"

namespace softib::server {

struct GuardConfig {
    std::string token;
    bool allow_control = false;
    bool is_loopback = true;
    std::vector<std::string> names;  ///< Names of this server, beside those of loopback.
};

class Guard {
  public:
    explicit Guard(GuardConfig config) : config_(std::move(config)) {}

    /// Returns the refusal, or std::nullopt if the request may go on.
    std::optional<Response> check(const Request& request) const;
    /// Returns whether an Authorization header has the token: as Bearer; or, as UFM's clients send
    /// it, as Basic, with the token itself or with it as the password of any user.
    bool has_token(std::string_view authorization) const;

  private:
    bool knows_host(std::string_view host) const;
    std::optional<Response> check_write(const Request& request) const;

    GuardConfig config_;
};

/// Returns a host without its port: "localhost" for "localhost:8080", "::1" for "[::1]:8080".
std::string_view without_port(std::string_view host);

/// Returns a random token.
std::string make_token();

}  // namespace softib::server
