// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The main loop of softib-telemetry: reads the fabric every second, keeps history and events, and
// sends both to the clients of the event stream. One process at a time samples a fabric: the holder
// of the lock in the fabric's directory. A process that serves HTTP asks (by SIGUSR1) a holder that
// does not serve to give the lock up. That holder then waits for the lock to become free again;
// history loses a second or two.

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "app/programs/telemetry_options.h"
#include "server/api.h"
#include "server/controls.h"
#include "server/delta.h"
#include "server/json.h"
#include "server/streams.h"
#include "telemetry/collector.h"
#include "telemetry/store/history.h"

namespace softib::app {

/// Reads the fabric twice and prints the checks of its health as JSON.
std::expected<void, std::string> print_checks(const TelemetryOptions& options);

class TelemetryLoop {
  public:
    explicit TelemetryLoop(TelemetryOptions options);
    ~TelemetryLoop();
    TelemetryLoop(const TelemetryLoop&) = delete;
    TelemetryLoop& operator=(const TelemetryLoop&) = delete;

    /// Samples the fabric, and serves HTTP if that is wanted, until SIGINT or SIGTERM. The error is
    /// for the user.
    std::expected<void, std::string> run();

  private:
    std::expected<void, std::string> prepare();
    std::expected<void, std::string> lock();
    std::expected<bool, std::string> try_lock();
    bool owns_lock() const;
    void reclaim();
    void restore();
    std::expected<void, std::string> make_scratch();
    std::expected<void, std::string> open_history();
    std::expected<std::unique_ptr<server::Front>, std::string> open_front();
    void tell_address(const std::string& url, std::uint16_t port, bool with_token);
    server::Json describe_sampling() const;
    void step();
    void keep(const std::shared_ptr<const telemetry::Snapshot>& now);
    void publish(const telemetry::Snapshot& now);
    /// Waits until this time or a signal. Returns the signal's number; 0 if the time has come.
    int wait(std::uint64_t until_ns) const;
    void step_back();
    std::string history_path() const;
    std::string client_state_path() const;
    std::string lock_path() const;

    TelemetryOptions options_;
    std::string scratch_;  ///< The folder of a history that is removed at the end.
    int signal_fd_ = -1;
    int lock_fd_ = -1;
    bool locked_ = false;
    pid_t asked_ = 0;             ///< The holder of the lock that was asked to give it up.
    std::uint64_t instance_ = 0;  ///< Snapshot::instance of the last snapshot.
    std::unique_ptr<telemetry::Collector> collector_;
    std::unique_ptr<server::DaemonControls> controls_;
    std::optional<telemetry::History> history_;
    bool stepped_ = false;  ///< Whether there was a first step.
    std::unique_ptr<server::Api> api_;
    server::Streams streams_;
    server::DeltaMaker deltas_;
    std::uint64_t saved_revision_ = 0;
    std::uint64_t told_revision_ = 0;
    std::uint64_t next_message_ = 1;
    std::string token_;
};

}  // namespace softib::app
