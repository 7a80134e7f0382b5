// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The bytes of one HTTP connection, plain or TLS. Reads and writes have a time limit.

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <string>

namespace softib::server {

class Wire {
  public:
    Wire() = default;
    Wire(const Wire&) = delete;
    Wire& operator=(const Wire&) = delete;
    virtual ~Wire() = default;

    /// Reads bytes, and returns how many; 0 at the end of the stream, -1 if none came in this time
    /// or the connection broke.
    virtual ssize_t read(char* bytes, std::size_t size, std::chrono::milliseconds patience) = 0;
    /// Writes bytes, and returns how many were taken; -1 if none were taken in this time, or the
    /// connection broke.
    virtual ssize_t write(const char* bytes, std::size_t size,
                          std::chrono::milliseconds patience) = 0;
    /// Waits, at most this long, until a read would return at once. Returns whether it would.
    virtual bool wait_readable(std::chrono::milliseconds patience) = 0;
};

/// Returns a wire without TLS, which owns the socket.
std::unique_ptr<Wire> plain_wire(int fd);

/// The certificate and key of a server.
class TlsContext {
  public:
    static std::expected<std::unique_ptr<TlsContext>, std::string> load(const std::string& cert,
                                                                        const std::string& key);
    ~TlsContext();
    TlsContext(const TlsContext&) = delete;
    TlsContext& operator=(const TlsContext&) = delete;

    /// Does the TLS handshake. Returns a wire that owns the socket; nullptr if the client does not
    /// finish the handshake in this time.
    std::unique_ptr<Wire> accept(int fd, std::chrono::milliseconds patience);

  private:
    explicit TlsContext(void* context) : context_(context) {}
    void* context_;  ///< SSL_CTX
};

}  // namespace softib::server
