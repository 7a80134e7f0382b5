// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers requests: our own JSON (docs/api.md), what Prometheus and readers of UFM's telemetry ask
// for, and UFM's REST tree (ufm.h). Whether a request may be asked at all is for the Guard.
//
// Thread rule: any thread may call handle().

#include <mutex>
#include <optional>
#include <string>

#include "server/captures.h"
#include "server/controls.h"
#include "server/explore.h"
#include "server/http.h"
#include "server/ufm.h"
#include "telemetry/collector.h"
#include "telemetry/export/metrics.h"

namespace softib::server {

struct ApiConfig {
    telemetry::Collector* collector = nullptr;
    Controls* controls = nullptr;  ///< None: the fabric can only be looked at.
    bool allow_control = false;    ///< Whether the Guard lets writes through.
    std::string dir;               ///< Of a fabric of ours; empty: it is another.
    std::string history;           ///< The file; empty: there is no history.
    std::string state_file;        ///< What clients asked for (client_state.h).
    std::string softib = {};       ///< The command, to capture packets with.
    std::string token;
    std::string version;
    telemetry::MetricsOptions metrics;
};

class Api {
  public:
    explicit Api(const ApiConfig& config)
        : config_(config),
          ufm_({config.collector, config.controls, config.dir, config.state_file, config.token,
                config.version}) {
        if (!config.dir.empty()) {
            explore_.emplace(config.dir);
            captures_.emplace(config.softib, config.dir);
        }
    }

    /// As Ufm::restore.
    std::vector<std::string> restore() { return ufm_.restore(); }
    Response handle(const Request& request);

  private:
    Response metrics(const Request& request) const;
    Response csv(const Request& request, std::string_view set) const;
    Response own(const Request& request, const std::vector<std::string_view>& path);
    Response fabric() const;
    Response events(const Request& request) const;
    Response port(const Request& request, std::string_view name) const;
    Response port_history(const Request& request, const telemetry::Snapshot& snapshot,
                          std::uint32_t port) const;
    Response set_link(const Request& request, std::string_view name) const;
    Response set_switch(const Request& request, std::string_view name) const;
    /// What the page asks for besides (api_page.cc).
    Response for_page(const Request& request, std::string_view what, std::string_view name);
    Response slots() const;
    Response moment(const Request& request) const;
    Response set_route(const Request& request, std::string_view name) const;
    Response start_capture(const Request& request);
    Response capture_file(std::string_view name);

    ApiConfig config_;
    Ufm ufm_;
    std::optional<Explore> explore_;
    std::optional<Captures> captures_;
};

}  // namespace softib::server
