// SPDX-License-Identifier: BSD-2-Clause
#include "server/front.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <thread>

#include "server/encoding.h"

namespace softib::server {

namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

constexpr Milliseconds kStreamBeat{15'000};  // A comment this often lets proxies keep the stream.
constexpr Milliseconds kStreamLook{500};     // How soon a stream notices that the server ends.
constexpr char kTakes[] = "softib-accept-encoding";

/// The stream that the HTTP library reads: a wire with limits of bytes and time for each request.
class LimitedStream final : public httplib::Stream {
  public:
    LimitedStream(Wire& wire, const Limits& limits) : wire_(wire), limits_(limits) {}

    void next_request() {
        bytes_left_ = limits_.request_bytes;
        end_ = Clock::now() + limits_.request_time;
    }
    /// Returns whether bytes of the next request have already been read.
    bool has_more() const { return at_ != filled_; }
    bool is_readable() const override { return bytes_left_ != 0 && left() > Milliseconds(0); }
    bool is_writable() const override { return !broken_; }
    ssize_t read(char* bytes, std::size_t size) override {
        if (!is_readable()) {
            return -1;
        }
        if (at_ == filled_) {  // Buffered, because the library reads heads byte by byte.
            const ssize_t got = wire_.read(buffer_.data(), buffer_.size(), left());
            if (got <= 0) {
                return got;
            }
            at_ = 0;
            filled_ = static_cast<std::size_t>(got);
        }
        const std::size_t count = std::min({size, bytes_left_, filled_ - at_});
        std::memcpy(bytes, buffer_.data() + at_, count);
        at_ += count;
        bytes_left_ -= count;
        return static_cast<ssize_t>(count);
    }
    ssize_t write(const char* bytes, std::size_t size) override {
        const ssize_t taken = broken_ ? -1 : wire_.write(bytes, size, limits_.write_time);
        broken_ = broken_ || taken <= 0;
        return taken;
    }
    void get_remote_ip_and_port(std::string& ip, int& port) const override {
        ip.clear();
        port = 0;
    }
    void get_local_ip_and_port(std::string& ip, int& port) const override {
        ip.clear();
        port = 0;
    }
    socket_t socket() const override { return -1; }

  private:
    Milliseconds left() const {
        return std::chrono::duration_cast<Milliseconds>(end_ - Clock::now());
    }

    Wire& wire_;
    const Limits& limits_;
    std::array<char, 8192> buffer_{};
    std::size_t at_ = 0;  ///< Bytes of buffer_ from here to filled_ were not read yet.
    std::size_t filled_ = 0;
    std::size_t bytes_left_ = 0;
    Clock::time_point end_{};
    bool broken_ = false;
};

Request to_request(const httplib::Request& from) {
    Request request;
    request.method = from.method;
    request.path = from.path;
    request.body = from.body;
    if (!from.files.empty()) {  // In a form with a file, the file is the body.
        request.body = from.files.begin()->second.content;
    }
    for (const auto& [name, value] : from.params) {
        if (!request.query.insert_or_assign(name, value).second) {
            request.repeated = name;
        }
    }
    for (const auto& [name, value] : from.headers) {
        std::string lower = name;
        std::ranges::transform(lower, lower.begin(),
                               [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
        request.headers[lower == kTakes ? "accept-encoding" : lower] = value;
    }
    return request;
}

bool takes_body(const std::string& method) {
    return method == "POST" || method == "PUT" || method == "DELETE";
}

/// Returns the bytes of the body of a request whose method takes none; SIZE_MAX: the head does not
/// say how many.
std::size_t idle_body(const httplib::Request& request) {
    if (takes_body(request.method) || request.has_header("Transfer-Encoding")) {
        return takes_body(request.method) ? 0 : SIZE_MAX;
    }
    return request.get_header_value<std::uint64_t>("Content-Length");
}

/// Reads a body that nobody looks at: if bytes were left, the connection's end would take the
/// answer with it.
void drain(httplib::Stream& stream, std::size_t bytes) {
    constexpr std::size_t kMost = 64UL << 10;
    std::array<char, 1024> piece{};
    for (std::size_t left = std::min(bytes, kMost); left != 0;) {
        const ssize_t got = stream.read(piece.data(), std::min(left, piece.size()));
        if (got <= 0) {
            return;
        }
        left -= static_cast<std::size_t>(got);
    }
}

void to_library(Response from, httplib::Response& to) {
    to.status = from.status;
    for (const auto& [name, value] : from.headers) {
        to.headers.erase(name);  // A header of ours replaces the default.
        to.set_header(name.c_str(), value);
    }
    to.set_content(std::move(from.body), from.type.c_str());
}

int listen_at(const std::string& address, std::uint16_t port) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    const bool is_v4 = inet_pton(AF_INET, address.c_str(), &v4.sin_addr) == 1;
    if (!is_v4 && inet_pton(AF_INET6, address.c_str(), &v6.sin6_addr) != 1) {
        errno = EINVAL;
        return -1;
    }
    const int fd =
        socket(is_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const int bound = is_v4 ? bind(fd, reinterpret_cast<const sockaddr*>(&v4), sizeof v4)
                            : bind(fd, reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
    if (fd >= 0 && (bound != 0 || listen(fd, SOMAXCONN) != 0)) {
        const int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

std::uint16_t port_of(int fd) {
    sockaddr_storage address{};
    socklen_t bytes = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes);
    return ntohs(address.ss_family == AF_INET
                     ? reinterpret_cast<const sockaddr_in*>(&address)->sin_port
                     : reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
}

}  // namespace

bool is_loopback(const std::string& address) {
    return address.starts_with("127.") || address == "::1";
}

/// The HTTP library's server, with one handler for all paths.
class Front::Library final : public httplib::Server {
  public:
    Library(const FrontConfig& config, Guard guard, Streams& streams, Front::Handler handler,
            const std::atomic<bool>& stopping)
        : limits_(config.limits),
          guard_(std::move(guard)),
          streams_(streams),
          handler_(std::move(handler)),
          stopping_(stopping) {
        svr_sock_ = 0;  // Without a socket, the library would write no streams.
        set_payload_max_length(limits_.request_bytes);
        set_pre_routing_handler([this](const httplib::Request& from, httplib::Response& to) {
            return before(from, to);
        });
        const auto answer = [this](const httplib::Request& from, httplib::Response& to) {
            const Request request = to_request(from);
            auto refusal = guard_.check(request);
            to_library(refusal ? std::move(*refusal) : answer_to(request), to);
        };
        Post(".*", answer);
        Put(".*", answer);
        Delete(".*", answer);
        set_exception_handler(
            [](const httplib::Request&, httplib::Response& to, std::exception_ptr) {
                to_library(Response::error(500, "this request cannot be answered"), to);
            });
        set_default_headers({{"Cache-Control", "no-store"},
                             {"X-Content-Type-Options", "nosniff"},
                             {"X-Frame-Options", "DENY"},
                             {"Referrer-Policy", "no-referrer"}});
    }

    /// Serves one request. Returns false if the connection is over.
    bool serve_one(LimitedStream& stream, bool is_last) {
        bool closed = false;
        std::size_t idle = 0;
        // We compress (encoding.h), so the library must not know that a client accepts it.
        const bool goes_on = process_request(stream, is_last, closed,
                                             [&idle](httplib::Request& request) {
                                                 idle = idle_body(request);
                                                 const std::string takes =
                                                     request.get_header_value("Accept-Encoding");
                                                 request.headers.erase("Accept-Encoding");
                                                 request.set_header(kTakes, takes);
                                             }) &&
                             !closed;
        drain(stream, idle);
        return goes_on && idle == 0;
    }

  private:
    using HandlerResponse = httplib::Server::HandlerResponse;

    /// Answers requests of methods that have no body here, before the library looks for a handler
    /// by patterns.
    HandlerResponse before(const httplib::Request& from, httplib::Response& to) {
        if (from.path.size() > limits_.path_bytes) {
            to_library(Response::error(414, "the path is too long"), to);
            return HandlerResponse::Handled;
        }
        if (takes_body(from.method)) {
            return HandlerResponse::Unhandled;
        }
        const Request request = to_request(from);
        if (auto refusal = guard_.check(request)) {
            to_library(std::move(*refusal), to);
            return HandlerResponse::Handled;
        }
        constexpr std::size_t kNull = 4;  // "null" is what libraries send for no body.
        if (idle_body(from) > kNull) {
            to_library(Response::error(400, fmt::format("a {} takes no body: parameters stand "
                                                        "behind '?' in its address",
                                                        from.method)),
                       to);
            return HandlerResponse::Handled;
        }
        Response response = answer_to(request);
        if (response.is_stream && request.method == "GET") {
            stream(response, to);
        } else {
            to_library(std::move(response), to);
        }
        return HandlerResponse::Handled;
    }

    Response answer_to(const Request& request) {
        Response response = handler_(request);
        encode_for(request, response);
        return response;
    }

    void stream(const Response& response, httplib::Response& to) {
        const auto subscriber = streams_.subscribe(response.stream_after);
        if (!subscriber) {
            to_library(Response::error(503, "too many streams are open; close one"), to);
            return;
        }
        to.set_chunked_content_provider(
            "text/event-stream",
            [this, subscriber, quiet = Milliseconds(0)](std::size_t,
                                                        httplib::DataSink& sink) mutable {
                if (stopping_ || subscriber->over()) {
                    return false;
                }
                const MessageText message = subscriber->wait(kStreamLook);
                quiet = message ? Milliseconds(0) : quiet + kStreamLook;
                if (message) {
                    return sink.write(message->data(), message->size());
                }
                if (quiet < kStreamBeat) {
                    return true;
                }
                quiet = Milliseconds(0);
                return sink.write(": \n\n", 4);
            },
            [this, subscriber](bool) { streams_.unsubscribe(subscriber); });
    }

    const Limits limits_;
    Guard guard_;
    Streams& streams_;
    Front::Handler handler_;
    const std::atomic<bool>& stopping_;
};

/// The connections that are open now.
struct Front::Crowd {
    std::mutex mutex;
    std::condition_variable empty;
    std::map<std::uint64_t, int> fds;  ///< Sockets, by the number of the connection.
    std::uint64_t next = 0;
};

Front::Front(FrontConfig config, Guard guard, Streams& streams, Handler handler)
    : config_(std::move(config)),
      library_(std::make_unique<Library>(config_, std::move(guard), streams, std::move(handler),
                                         stopping_)),
      crowd_(std::make_shared<Crowd>()),
      wake_fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Front::~Front() {
    stop();
    std::unique_lock lock(crowd_->mutex);
    for (const auto& [number, fd] : crowd_->fds) {
        shutdown(fd, SHUT_RDWR);
    }
    crowd_->empty.wait(lock, [this] { return crowd_->fds.empty(); });
    if (listen_fd_ >= 0) {
        close(listen_fd_);
    }
    close(wake_fd_);
}

std::expected<std::uint16_t, std::string> Front::open() {
    if (!config_.cert.empty()) {
        auto tls = TlsContext::load(config_.cert, config_.key);
        if (!tls) {
            return std::unexpected(tls.error());
        }
        tls_ = std::move(*tls);
    } else if (!is_loopback(config_.address)) {
        return std::unexpected(fmt::format(
            "{} is not of this machine alone: give --cert and --key for TLS", config_.address));
    }
    listen_fd_ = listen_at(config_.address, config_.port);
    if (listen_fd_ < 0) {
        return std::unexpected(
            fmt::format("cannot listen at {} port {}: {}; choose another with "
                        "--port",
                        config_.address, config_.port, std::strerror(errno)));
    }
    return port_of(listen_fd_);
}

void Front::run() {
    while (!stopping_) {
        pollfd waiting[] = {{listen_fd_, POLLIN, 0}, {wake_fd_, POLLIN, 0}};
        poll(waiting, 2, -1);
        const int fd =
            stopping_ ? -1 : accept4(listen_fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0) {
            if (!stopping_ && (errno == EMFILE || errno == ENFILE)) {
                std::this_thread::sleep_for(Milliseconds(50));
            }
            continue;
        }
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        std::uint64_t number = 0;
        {
            const std::lock_guard lock(crowd_->mutex);
            if (crowd_->fds.size() >= config_.limits.connections) {
                constexpr std::string_view kBusy =
                    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                    "Connection: close\r\n\r\n";
                send(fd, kBusy.data(), kBusy.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
                close(fd);
                continue;
            }
            number = crowd_->next++;
            crowd_->fds.emplace(number, fd);
        }
        std::thread([this, fd, number, crowd = crowd_] {
            if (auto wire = tls_ ? tls_->accept(fd, config_.limits.request_time) : plain_wire(fd)) {
                serve(*wire);
            }
            const std::lock_guard lock(crowd->mutex);
            crowd->fds.erase(number);
            if (crowd->fds.empty()) {
                crowd->empty.notify_all();
            }
        }).detach();
    }
}

void Front::serve(Wire& wire) {
    LimitedStream stream(wire, config_.limits);
    const std::size_t most = config_.limits.requests_per_connection;
    for (std::size_t n = 1; n <= most && !stopping_; ++n) {
        if (!stream.has_more() && !wire.wait_readable(config_.limits.idle_time)) {
            return;
        }
        stream.next_request();
        if (!library_->serve_one(stream, n == most)) {
            return;
        }
    }
}

void Front::stop() {
    stopping_ = true;
    const std::uint64_t one = 1;
    const ssize_t ignored = write(wake_fd_, &one, sizeof one);
    static_cast<void>(ignored);
}

}  // namespace softib::server
