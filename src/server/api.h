// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers HTTP requests: our own JSON (docs/api.md), metrics for Prometheus and for readers of
// UFM's telemetry, and UFM's REST tree (ufm.h). The Guard has decided before that a request may be
// answered.
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
    Controls* controls = nullptr;  ///< nullptr: the fabric can only be read.
    bool allow_control = false;    ///< Whether the Guard lets writes through.
    std::string dir;               ///< The directory of a softib fabric; empty: it is no such one.
    std::string history;           ///< The file of the history; empty: there is none.
    std::string state_file;        ///< The file of what clients asked for (client_state.h).
    std::string softib = {};       ///< The path of the softib command, which captures packets.
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

    /// See Ufm::restore().
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
    /// Answers the requests that only the web page makes (api_page.cc).
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
