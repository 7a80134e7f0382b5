// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// What softib-telemetry does: reads the fabric every second, keeps history and events, and tells
// the clients of the event stream. One process at a time samples a fabric, the holder of the lock
// in its directory. One that serves HTTP asks a holder that does not to step back (SIGUSR1), which
// then waits until it may go on: history loses a second or two.

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

class TelemetryLoop {
  public:
    explicit TelemetryLoop(TelemetryOptions options);
    ~TelemetryLoop();
    TelemetryLoop(const TelemetryLoop&) = delete;
    TelemetryLoop& operator=(const TelemetryLoop&) = delete;

    /// Samples, and serves if that is wanted, until a signal. The error is for the user.
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
    /// Returns the number of a signal that came; 0: the second is over.
    int wait(std::uint64_t until_ns) const;
    void step_back();
    std::string history_path() const;
    std::string client_state_path() const;
    std::string lock_path() const;

    TelemetryOptions options_;
    std::string scratch_;  ///< The folder of a history that ends with this process.
    int signal_fd_ = -1;
    int lock_fd_ = -1;
    bool locked_ = false;
    pid_t asked_ = 0;             ///< The holder of the lock that was asked to step back.
    std::uint64_t instance_ = 0;  ///< Of the fabric in the last snapshot.
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
