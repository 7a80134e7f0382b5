// SPDX-License-Identifier: BSD-2-Clause
#include "app/programs/telemetry_loop.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "server/json.h"
#include "telemetry/arena_source.h"
#include "telemetry/clocks.h"
#include "telemetry/export/sysfs_files.h"
#include "telemetry/mad/mad_source.h"

namespace softib::app {

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr int kLockTries = 100;  // Of 50 ms.
constexpr int kLockPauseMs = 50;
constexpr std::uint64_t kSysfsEvery = 5;

int block_signals() {
    signal(SIGPIPE, SIG_IGN);
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
        sigaddset(&set, number);
    }
    sigprocmask(SIG_BLOCK, &set, nullptr);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

std::unique_ptr<telemetry::Source> make_source(const TelemetryOptions& options) {
    if (!options.use_umad) {
        return std::make_unique<telemetry::ArenaSource>(options.dir);
    }
    const std::size_t colon = options.umad.find(':');
    int port = 0;
    if (colon != std::string::npos) {
        std::from_chars(options.umad.data() + colon + 1, options.umad.data() + options.umad.size(),
                        port);
    }
    return std::make_unique<telemetry::MadSource>(options.umad.substr(0, colon), port);
}

std::expected<std::vector<telemetry::Rule>, std::string> load_rules(const std::string& file) {
    if (file.empty()) {
        return telemetry::built_in_rules();
    }
    std::ifstream in(file, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (!in) {
        return std::unexpected(fmt::format("cannot read the rules in {}", file));
    }
    return telemetry::parse_rules(text, file);
}

pid_t read_pid(int fd) {
    char text[32] = {};
    pid_t pid = 0;
    const ssize_t got = pread(fd, text, sizeof text - 1, 0);
    std::from_chars(text, text + std::max<ssize_t>(0, got), pid);
    return pid;
}

}  // namespace

TelemetryLoop::TelemetryLoop(TelemetryOptions options)
    : options_(std::move(options)),
      signal_fd_(block_signals()),
      streams_(options_.front.limits.streams) {}

TelemetryLoop::~TelemetryLoop() {
    for (const int fd : {signal_fd_, lock_fd_}) {
        if (fd >= 0) {
            close(fd);
        }
    }
}

std::string TelemetryLoop::history_path() const {
    return !options_.history.empty() || options_.dir.empty()
               ? options_.history
               : options_.dir + "/telemetry/history.db";
}

std::expected<void, std::string> TelemetryLoop::lock() {
    if (options_.dir.empty()) {
        return {};
    }
    const std::string folder = options_.dir + "/telemetry";
    mkdir(folder.c_str(), 0700);
    const std::string path = folder + "/lock";
    lock_fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock_fd_ < 0) {
        return std::unexpected(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    }
    bool asked = false;
    for (int i = 0; flock(lock_fd_, LOCK_EX | LOCK_NB) != 0; ++i) {
        const pid_t holder = read_pid(lock_fd_);
        if (!options_.serve || i == kLockTries) {
            return std::unexpected(
                fmt::format("pid {} samples this fabric already; end it first", holder));
        }
        if (!asked && holder > 0) {
            kill(holder, SIGUSR1);  // The lock says that it is telemetry, and ours.
            asked = true;
        }
        poll(nullptr, 0, kLockPauseMs);
    }
    const std::string pid = std::to_string(getpid()) + "\n";
    static_cast<void>(!ftruncate(lock_fd_, 0));
    return pwrite(lock_fd_, pid.data(), pid.size(), 0) > 0
               ? std::expected<void, std::string>{}
               : std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
}

std::expected<void, std::string> TelemetryLoop::open_history() {
    if (history_path().empty()) {
        return {};
    }
    auto history = telemetry::History::open(history_path(), options_.history_max);
    if (!history) {
        return std::unexpected(history.error());
    }
    history_.emplace(std::move(*history));
    return {};
}

std::expected<void, std::string> TelemetryLoop::prepare() {
    auto rules = load_rules(options_.rules);
    if (!rules) {
        return std::unexpected(rules.error());
    }
    if (auto locked = lock(); !locked) {
        return locked;
    }
    collector_ = std::make_unique<telemetry::Collector>(make_source(options_), std::move(*rules));
    if (auto opened = open_history(); !opened) {
        return opened;
    }
    if (history_) {
        collector_->with_events([&](telemetry::EventBook& book) {
            book.restore(history_->load_events());
            saved_revision_ = told_revision_ = book.revision();
        });
    }
    if (!options_.dir.empty() && options_.allow_control) {
        controls_ = std::make_unique<server::DaemonControls>(options_.dir);
    }
    return {};
}

std::expected<std::unique_ptr<server::Front>, std::string> TelemetryLoop::open_front() {
    token_ = server::make_token();
    api_ = std::make_unique<server::Api>(server::ApiConfig{.collector = collector_.get(),
                                                           .controls = controls_.get(),
                                                           .history = history_path(),
                                                           .token = token_,
                                                           .version = SOFTIB_VERSION,
                                                           .metrics = options_.metrics});
    const bool loopback = server::is_loopback(options_.front.address);
    auto front = std::make_unique<server::Front>(
        options_.front, server::Guard({token_, options_.allow_control, loopback, options_.names}),
        streams_, [this](const server::Request& request) { return api_->handle(request); });
    const auto port = front->open();
    if (!port) {
        return std::unexpected(port.error());
    }
    fmt::print("serving at {}://{}:{}/\n", options_.front.cert.empty() ? "http" : "https",
               loopback ? "localhost" : options_.front.address, *port);
    if (options_.allow_control || !loopback) {
        fmt::print("token: {}\n", token_);
    }
    std::fflush(stdout);
    return front;
}

std::expected<void, std::string> TelemetryLoop::run() {
    if (auto prepared = prepare(); !prepared) {
        return prepared;
    }
    step();  // Who asks first gets an answer.
    std::unique_ptr<server::Front> front;
    std::thread serving;
    if (options_.serve) {
        auto opened = open_front();
        if (!opened) {
            return std::unexpected(opened.error());
        }
        front = std::move(*opened);
        serving = std::thread([&front] { front->run(); });
    }
    std::uint64_t next = telemetry::monotonic_ns() + kSecondNs;
    for (int got = 0; got != SIGTERM && got != SIGINT; got = wait(next)) {
        if (got == SIGUSR1 && !options_.serve) {
            step_back();
        }
        if (telemetry::monotonic_ns() >= next) {
            step();
            next = std::max(next + kSecondNs, telemetry::monotonic_ns());
        }
    }
    streams_.stop();
    if (front) {
        front->stop();
        serving.join();
    }
    return {};
}

int TelemetryLoop::wait(std::uint64_t until_ns) const {
    const std::uint64_t now = telemetry::monotonic_ns();
    pollfd waiting{signal_fd_, POLLIN, 0};
    poll(&waiting, 1, until_ns <= now ? 0 : static_cast<int>((until_ns - now) / 1'000'000 + 1));
    signalfd_siginfo got{};
    return read(signal_fd_, &got, sizeof got) == sizeof got ? static_cast<int>(got.ssi_signo) : 0;
}

/// Gives the lock to the process that asked for it, and waits until it is free again.
void TelemetryLoop::step_back() {
    history_.reset();
    flock(lock_fd_, LOCK_UN);
    int got = 0;
    do {
        got = wait(telemetry::monotonic_ns() + 2 * kSecondNs);
    } while (got != SIGTERM && got != SIGINT && flock(lock_fd_, LOCK_EX | LOCK_NB) != 0);
    if (got == SIGTERM || got == SIGINT) {
        kill(getpid(), got);  // For the loop that called.
        return;
    }
    const std::string pid = std::to_string(getpid()) + "\n";
    static_cast<void>(!ftruncate(lock_fd_, 0));
    static_cast<void>(pwrite(lock_fd_, pid.data(), pid.size(), 0));
    static_cast<void>(open_history());
    before_ = nullptr;
}

void TelemetryLoop::step() {
    const auto now = collector_->step();
    keep(*now);
    if (options_.serve) {
        publish(*now);
    }
    if (!options_.sysfs.empty() && now->trouble.empty() && now->number % kSysfsEvery == 1) {
        if (const auto written = telemetry::write_sysfs(*now, options_.sysfs); !written) {
            fmt::print(stderr, "softib-telemetry: {}\n", written.error());
        }
    }
    before_ = now;
}

void TelemetryLoop::keep(const telemetry::Snapshot& now) {
    // A fabric that was ended took its directory along: when it is back, so is its history file.
    const bool returned = before_ && !before_->trouble.empty() && now.trouble.empty();
    if (returned && options_.history.empty() && !options_.dir.empty()) {
        history_.reset();
        mkdir((options_.dir + "/telemetry").c_str(), 0700);
        static_cast<void>(open_history());
    }
    if (!history_) {
        return;
    }
    const bool written = !before_ || history_->add(*before_, now);
    const auto changed = collector_->events_since(saved_revision_);
    const bool saved = history_->save_events(changed);
    for (const telemetry::Event& event : changed) {
        saved_revision_ = saved ? std::max(saved_revision_, event.revision) : saved_revision_;
    }
    collector_->with_events([&](telemetry::EventBook& book) {
        if (written && saved) {
            book.clear("history_not_written", "telemetry", telemetry::wall_us());
        } else if (!book.is_active("history_not_written", "telemetry")) {
            book.raise({telemetry::Severity::kMinor, "history_not_written", "telemetry",
                        "telemetry", "history is not written: " + history_->error(), true},
                       telemetry::wall_us());
        }
    });
}

void TelemetryLoop::publish(const telemetry::Snapshot& now) {
    streams_.publish(next_message_++, "sample", deltas_.next(now));
    for (const telemetry::Event& event : collector_->events_since(told_revision_)) {
        told_revision_ = std::max(told_revision_, event.revision);
        streams_.publish(next_message_++, "event", server::to_text(server::to_json(event)));
    }
}

}  // namespace softib::app
