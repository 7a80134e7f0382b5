// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The HTTP server: accepts connections, lets cpp-httplib read requests under limits of our own, and
// passes them to the Guard and to the Api. Each connection has a thread, and their number is
// limited.
//
// Thread rule: run() belongs to one thread; stop() may be called by any.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "server/guard.h"
#include "server/http.h"
#include "server/streams.h"
#include "server/wire.h"

namespace softib::server {

struct Limits {
    std::size_t connections = 640;
    std::size_t streams = 512;
    std::size_t request_bytes = std::size_t{1} << 20;  ///< Head and body of one request.
    std::size_t path_bytes = 2048;
    std::size_t requests_per_connection = 1000;
    std::chrono::milliseconds request_time{10'000};  ///< Time for a whole request to arrive.
    std::chrono::milliseconds idle_time{30'000};     ///< Time between two requests.
    std::chrono::milliseconds write_time{5'000};     ///< Time for a client to read.
};

struct FrontConfig {
    std::string address = "127.0.0.1";
    std::uint16_t port = 8080;  ///< 0: any that is free.
    std::string cert;           ///< The file of the certificate; empty: no TLS.
    std::string key;            ///< The file of the certificate's key.
    Limits limits;
};

class Front {
  public:
    using Handler = std::function<Response(const Request&)>;

    Front(FrontConfig config, Guard guard, Streams& streams, Handler handler);
    ~Front();
    Front(const Front&) = delete;
    Front& operator=(const Front&) = delete;

    /// Listens on the port, and returns its number. The error says what to do.
    std::expected<std::uint16_t, std::string> open();
    /// Serves until stop().
    void run();
    void stop();
    /// Serves one connection until it ends. Public for tests, which provide a wire of their own.
    void serve(Wire& wire);

  private:
    class Library;
    struct Crowd;

    FrontConfig config_;
    std::unique_ptr<Library> library_;
    std::unique_ptr<TlsContext> tls_;
    std::shared_ptr<Crowd> crowd_;
    int listen_fd_ = -1;
    int wake_fd_ = -1;
    std::atomic<bool> stopping_ = false;
};

/// Returns whether an address can only be reached from this machine.
bool is_loopback(const std::string& address);

}  // namespace softib::server
