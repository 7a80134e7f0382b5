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
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include "core/topo/netlist.h"
#include "server/json.h"
#include "spec/text_file.h"
#include "telemetry/arena_source.h"
#include "telemetry/clocks.h"
#include "telemetry/export/sysfs_files.h"
#include "telemetry/health.h"
#include "telemetry/mad/mad_source.h"
#include "telemetry/recording.h"

namespace softib::app {

namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr int kLockTries = 100;  // kLockPauseMs apart: five seconds in all.
constexpr int kLockPauseMs = 50;
constexpr std::uint64_t kSysfsEvery = 5;

int block_signals() {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);  // So a write beyond the file size limit fails, as on a full disk.
    sigset_t set;
    sigemptyset(&set);
    for (const int number : {SIGINT, SIGTERM, SIGUSR1}) {
        sigaddset(&set, number);
    }
    sigprocmask(SIG_BLOCK, &set, nullptr);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

std::unique_ptr<telemetry::Source> make_source(const TelemetryOptions& options) {
    if (!options.recording.empty()) {
        return std::make_unique<telemetry::RecordingSource>(options.recording);
    }
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

/// Makes the folder for files in the shape of /sys, unless its name is empty.
std::expected<void, std::string> check_sysfs(const std::string& folder) {
    std::error_code error;
    if (!folder.empty() && !std::filesystem::create_directories(folder, error) && !error &&
        access(folder.c_str(), W_OK) != 0) {
        error = std::error_code(errno, std::generic_category());
    }
    return error ? std::expected<void, std::string>(std::unexpected(
                       fmt::format("cannot write to {}: {}", folder, error.message())))
                 : std::expected<void, std::string>();
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

std::expected<void, std::string> print_checks(const TelemetryOptions& options) {
    constexpr std::chrono::milliseconds kBetweenReadings{500};
    std::optional<telemetry::Inventory> expected;
    if (!options.compare.empty()) {
        const auto text = spec::read_file(options.compare);
        if (!text) {
            return std::unexpected(text.error());
        }
        const auto graph = topo::read_netlist(*text, options.compare);
        if (!graph) {
            return std::unexpected(graph.error().message);
        }
        expected = telemetry::from_graph(*graph);
    }
    telemetry::Collector collector(make_source(options), telemetry::built_in_rules());
    if (expected) {
        collector.expect(*expected);
    }
    collector.step();
    std::this_thread::sleep_for(kBetweenReadings);  // Rates need two readings.
    const auto snapshot = collector.step();
    if (snapshot->number == 0) {
        return std::unexpected(snapshot->trouble);
    }
    auto checks = telemetry::check_health(*snapshot, collector.alarms());
    if (expected) {
        checks.push_back(telemetry::check_topology(*expected, *snapshot->inventory));
    } else if (options.use_umad) {
        for (telemetry::Check& check : checks) {
            if (check.name == "nodes" && check.ok()) {
                check.text = fmt::format(
                    "all {} nodes that are there answer; --compare FILE tells which are missing",
                    snapshot->inventory->nodes.size());
            }
        }
    }
    fmt::print("{}\n", server::to_text(view::to_json(checks)));
    return {};
}

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
    if (!scratch_.empty()) {
        history_.reset();
        std::error_code ignored;
        std::filesystem::remove_all(scratch_, ignored);
    }
}

/// Makes a temporary folder for the history of a recording, which has no fabric directory.
std::expected<void, std::string> TelemetryLoop::make_scratch() {
    if (options_.recording.empty() || !options_.history.empty()) {
        return {};
    }
    std::error_code error;
    std::string folder =
        (std::filesystem::temp_directory_path(error) / "softib-history-XXXXXX").string();
    if (error || mkdtemp(folder.data()) == nullptr) {
        return std::unexpected(
            fmt::format("cannot make a folder for the history, {}: {}; name a "
                        "file with --history",
                        folder, std::strerror(error ? error.value() : errno)));
    }
    scratch_ = std::move(folder);
    options_.history = scratch_ + "/history.db";
    return {};
}

std::string TelemetryLoop::history_path() const {
    return !options_.history.empty() || options_.dir.empty()
               ? options_.history
               : options_.dir + "/telemetry/history.db";
}

std::string TelemetryLoop::client_state_path() const {
    return !options_.history.empty() ? options_.history + ".clients.json"
           : options_.dir.empty()    ? std::string()
                                     : options_.dir + "/telemetry/clients.json";
}

std::string TelemetryLoop::lock_path() const {
    return options_.dir + "/telemetry/lock";
}

/// Tries once to become the process that samples this fabric. If another process has the lock and
/// this one serves HTTP, asks that one to give the lock up. Returns whether this process has it.
std::expected<bool, std::string> TelemetryLoop::try_lock() {
    const std::string path = lock_path();
    if (lock_fd_ < 0) {
        mkdir((options_.dir + "/telemetry").c_str(), 0700);
        lock_fd_ = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    }
    if (lock_fd_ < 0) {
        return std::unexpected(fmt::format("cannot open {}: {}", path, std::strerror(errno)));
    }
    if (flock(lock_fd_, LOCK_EX | LOCK_NB) != 0) {
        const pid_t holder = read_pid(lock_fd_);
        if (options_.serve && holder > 0 && holder != asked_) {
            kill(holder, SIGUSR1);  // The holder of the lock is a softib-telemetry.
            asked_ = holder;
        }
        return false;
    }
    asked_ = 0;
    const std::string pid = std::to_string(getpid()) + "\n";
    static_cast<void>(!ftruncate(lock_fd_, 0));
    if (pwrite(lock_fd_, pid.data(), pid.size(), 0) < 0) {
        return std::unexpected(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    }
    return true;
}

std::expected<void, std::string> TelemetryLoop::lock() {
    if (options_.dir.empty()) {
        return {};
    }
    for (int i = 0; true; ++i) {
        const auto locked = try_lock();
        if (!locked) {
            return std::unexpected(locked.error());
        }
        if (*locked) {
            return {};
        }
        if (!options_.serve || i == kLockTries) {
            return std::unexpected(fmt::format("pid {} samples this fabric already; end it first",
                                               read_pid(lock_fd_)));
        }
        poll(nullptr, 0, kLockPauseMs);
    }
}

/// Returns whether the lock file that is open is still the one in the fabric's directory. If the
/// fabric was ended, its directory was removed with the lock file.
bool TelemetryLoop::owns_lock() const {
    struct stat held{};
    struct stat there{};
    return options_.dir.empty() ||
           (fstat(lock_fd_, &held) == 0 && stat(lock_path().c_str(), &there) == 0 &&
            held.st_ino == there.st_ino && held.st_dev == there.st_dev);
}

/// Takes the lock again after the fabric was ended and started again, and opens its history. While
/// another process has the lock, this one keeps no history.
void TelemetryLoop::reclaim() {
    if (!owns_lock()) {
        if (lock_fd_ >= 0) {
            close(lock_fd_);
        }
        lock_fd_ = -1;
        locked_ = false;
        history_.reset();
    }
    if (!locked_) {
        locked_ = try_lock().value_or(false);
        if (locked_) {
            static_cast<void>(open_history());
        }
    }
}

/// Applies what clients had asked for earlier to a fabric that was started, or started again.
void TelemetryLoop::restore() {
    if (!api_ || !options_.allow_control) {
        return;
    }
    for (const std::string& failure : api_->restore()) {
        fmt::print(stderr, "softib-telemetry: {}\n", failure);
    }
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
    if (auto writable = check_sysfs(options_.sysfs); !writable) {
        return writable;
    }
    if (auto locked = lock(); !locked) {
        return locked;
    }
    locked_ = true;
    if (auto made = make_scratch(); !made) {
        return made;
    }
    auto source = make_source(options_);
    if (auto there = source->check(); !there) {
        return there;
    }
    collector_ = std::make_unique<telemetry::Collector>(std::move(source), std::move(*rules));
    if (auto opened = open_history(); !opened) {
        return opened;
    }
    if (history_) {
        collector_->with_events([&](telemetry::EventBook& book) {
            book.restore(history_->load_events());
            saved_revision_ = told_revision_ = book.revision();
        });
    }
    if (!options_.dir.empty()) {
        controls_ = std::make_unique<server::DaemonControls>(options_.dir);
    }
    return {};
}

std::expected<std::unique_ptr<server::Front>, std::string> TelemetryLoop::open_front() {
    token_ = server::make_token();
    api_ = std::make_unique<server::Api>(server::ApiConfig{.collector = collector_.get(),
                                                           .controls = controls_.get(),
                                                           .allow_control = options_.allow_control,
                                                           .dir = options_.dir,
                                                           .history = history_path(),
                                                           .state_file = client_state_path(),
                                                           .softib = options_.softib,
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
    tell_address(fmt::format("{}://{}:{}/", options_.front.cert.empty() ? "http" : "https",
                             loopback ? "localhost" : options_.front.address, *port),
                 *port, options_.allow_control || !loopback);
    return front;
}

/// Prints the server's address, and the token if clients need one.
void TelemetryLoop::tell_address(const std::string& url, std::uint16_t port, bool with_token) {
    if (options_.json) {
        server::Json ready = describe_sampling();
        ready["url"] = url;
        ready["port"] = port;
        ready["token"] = with_token ? server::Json(token_) : server::Json();
        fmt::print("{}\n", server::to_text(ready));
    } else {
        fmt::print("serving at {}\n", url);
        if (with_token) {
            fmt::print("token: {}\n", token_);
        }
    }
    std::fflush(stdout);
}

/// Returns what is sampled, by which process, and the file of the history (null if there is none).
server::Json TelemetryLoop::describe_sampling() const {
    const auto or_null = [](const std::string& text) {
        return text.empty() ? server::Json() : server::Json(text);
    };
    return {{"pid", getpid()},
            {"dir", or_null(options_.dir)},
            {"umad", or_null(options_.umad)},
            {"recording", or_null(options_.recording)},
            {"history", or_null(history_path())}};
}

std::expected<void, std::string> TelemetryLoop::run() {
    if (auto prepared = prepare(); !prepared) {
        return prepared;
    }
    step();  // Before the server starts, so that the first request finds a snapshot.
    if (const std::string trouble = collector_->snapshot()->trouble; !trouble.empty()) {
        fmt::print(stderr, "softib-telemetry: {}; trying again every second\n", trouble);
    }
    std::unique_ptr<server::Front> front;
    std::thread serving;
    if (options_.serve) {
        auto opened = open_front();
        if (!opened) {
            return std::unexpected(opened.error());
        }
        front = std::move(*opened);
        restore();
        serving = std::thread([&front] { front->run(); });
    } else if (options_.json) {
        fmt::print("{}\n", server::to_text(describe_sampling()));
        std::fflush(stdout);
    }
    std::uint64_t next = telemetry::monotonic_ns() + kSecondNs;
    for (int got = 0; got != SIGTERM && got != SIGINT; got = wait(next)) {
        if (got == SIGUSR1 && !options_.serve && locked_) {
            step_back();
        }
        if (telemetry::monotonic_ns() >= next) {
            step();
            const std::uint64_t now = telemetry::monotonic_ns();
            next = collector_->has_more() ? now : std::max(next + kSecondNs, now);
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

/// Gives the lock up for the process that asked for it, and waits until it is free again.
void TelemetryLoop::step_back() {
    history_.reset();
    flock(lock_fd_, LOCK_UN);
    int got = 0;
    do {
        got = wait(telemetry::monotonic_ns() + 2 * kSecondNs);
    } while (got != SIGTERM && got != SIGINT && !try_lock().value_or(false));
    if (got == SIGTERM || got == SIGINT) {
        kill(getpid(), got);  // For the loop in run(), which ends on it.
        return;
    }
    static_cast<void>(open_history());
}

void TelemetryLoop::step() {
    const auto now = collector_->step();
    if (now->trouble.empty() && stepped_) {
        reclaim();
        if (now->instance != instance_) {
            restore();
        }
    }
    instance_ = now->instance;
    keep(now);
    if (options_.serve) {
        publish(*now);
    }
    if (!options_.sysfs.empty() && now->trouble.empty() && now->number % kSysfsEvery == 1) {
        if (const auto written = telemetry::write_sysfs(*now, options_.sysfs); !written) {
            fmt::print(stderr, "softib-telemetry: {}\n", written.error());
        }
    }
    stepped_ = true;
}

void TelemetryLoop::keep(const std::shared_ptr<const telemetry::Snapshot>& now) {
    if (!history_) {
        return;
    }
    const bool written = history_->follow(now);
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
