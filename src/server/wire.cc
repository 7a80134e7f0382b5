// SPDX-License-Identifier: BSD-2-Clause
#include "server/wire.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace softib::server {

namespace {

using Milliseconds = std::chrono::milliseconds;

bool wait_for(int fd, short events, Milliseconds patience) {
    pollfd waiting{fd, events, 0};
    int ready = 0;
    do {
        ready =
            poll(&waiting, 1, static_cast<int>(std::max<Milliseconds::rep>(0, patience.count())));
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
}

class PlainWire final : public Wire {
  public:
    explicit PlainWire(int fd) : fd_(fd) {}
    ~PlainWire() override { close(fd_); }

    ssize_t read(char* bytes, std::size_t size, Milliseconds patience) override {
        return wait_for(fd_, POLLIN, patience) ? recv(fd_, bytes, size, MSG_DONTWAIT) : -1;
    }
    ssize_t write(const char* bytes, std::size_t size, Milliseconds patience) override {
        return wait_for(fd_, POLLOUT, patience)
                   ? send(fd_, bytes, size, MSG_DONTWAIT | MSG_NOSIGNAL)
                   : -1;
    }
    bool wait_readable(Milliseconds patience) override { return wait_for(fd_, POLLIN, patience); }

  private:
    int fd_;
};

class TlsWire final : public Wire {
  public:
    TlsWire(int fd, SSL* ssl) : fd_(fd), ssl_(ssl) {}
    ~TlsWire() override {
        SSL_free(ssl_);
        close(fd_);
    }

    bool handshake(Milliseconds patience) {
        const auto end = std::chrono::steady_clock::now() + patience;
        return go_on(end, [this] { return SSL_accept(ssl_); }) > 0;
    }
    ssize_t read(char* bytes, std::size_t size, Milliseconds patience) override {
        const auto end = std::chrono::steady_clock::now() + patience;
        return go_on(end, [&] { return SSL_read(ssl_, bytes, limited(size)); });
    }
    ssize_t write(const char* bytes, std::size_t size, Milliseconds patience) override {
        const auto end = std::chrono::steady_clock::now() + patience;
        return go_on(end, [&] { return SSL_write(ssl_, bytes, limited(size)); });
    }
    bool wait_readable(Milliseconds patience) override {
        return SSL_pending(ssl_) > 0 || wait_for(fd_, POLLIN, patience);
    }

  private:
    static int limited(std::size_t size) {
        return static_cast<int>(std::min<std::size_t>(size, 1 << 20));
    }
    /// Repeats a call of OpenSSL until it has done something, or the time is over.
    template <typename Call>
    ssize_t go_on(std::chrono::steady_clock::time_point end, Call&& call) {
        while (true) {
            ERR_clear_error();
            const int done = call();
            if (done > 0) {
                return done;
            }
            const int why = SSL_get_error(ssl_, done);
            if (why == SSL_ERROR_ZERO_RETURN) {
                return 0;
            }
            const auto left =
                std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
            const short events = why == SSL_ERROR_WANT_READ    ? short{POLLIN}
                                 : why == SSL_ERROR_WANT_WRITE ? short{POLLOUT}
                                                               : short{0};
            if (events == 0 || left.count() <= 0 || !wait_for(fd_, events, left)) {
                return -1;
            }
        }
    }

    int fd_;
    SSL* ssl_;
};

std::string tls_error() {
    char text[256];
    ERR_error_string_n(ERR_get_error(), text, sizeof text);
    return text;
}

}  // namespace

std::unique_ptr<Wire> plain_wire(int fd) {
    return std::make_unique<PlainWire>(fd);
}

std::expected<std::unique_ptr<TlsContext>, std::string> TlsContext::load(const std::string& cert,
                                                                         const std::string& key) {
    SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
    std::unique_ptr<TlsContext> made(new TlsContext(context));
    if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1) {
        return std::unexpected("cannot set TLS up: " + tls_error());
    }
    if (SSL_CTX_use_certificate_chain_file(context, cert.c_str()) != 1) {
        return std::unexpected(fmt::format("{} is no certificate: {}", cert, tls_error()));
    }
    if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(context) != 1) {
        return std::unexpected(fmt::format("{} is not the key of {}: {}", key, cert, tls_error()));
    }
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return made;
}

TlsContext::~TlsContext() {
    SSL_CTX_free(static_cast<SSL_CTX*>(context_));
}

std::unique_ptr<Wire> TlsContext::accept(int fd, Milliseconds patience) {
    SSL* const ssl = SSL_new(static_cast<SSL_CTX*>(context_));
    if (ssl == nullptr) {
        close(fd);
        return nullptr;
    }
    SSL_set_fd(ssl, fd);
    auto wire = std::make_unique<TlsWire>(fd, ssl);
    return wire->handshake(patience) ? std::move(wire) : nullptr;
}

}  // namespace softib::server
