// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Answers HTTP requests: our own JSON (docs/api.md), metrics for Prometheus and for readers of
// UFM's telemetry, and UFM's REST tree (ufm.h). The Guard has decided before that a request may be
// answered.
//
// Thread rule: any thread may call handle().

#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "server/captures.h"
#include "server/controls.h"
#include "server/explore.h"
#include "server/http.h"
#include "server/router.h"
#include "server/ufm.h"
#include "telemetry/collector.h"
#include "telemetry/export/metrics.h"
#include "telemetry/store/history.h"

namespace softib::server {

inline constexpr char kOnlyLook[] = "this fabric can only be looked at";

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
    explicit Api(const ApiConfig& config);
    Api(const Api&) = delete;
    Api& operator=(const Api&) = delete;

    /// See Ufm::restore().
    std::vector<std::string> restore() { return ufm_.restore(); }
    Response handle(const Request& request) { return router_.handle(request); }
    const Router& router() const { return router_; }

  private:
    std::vector<Route> own_routes();
    std::vector<Route> port_routes();
    std::vector<Route> control_routes();
    std::vector<Route> telemetry_routes();

    Response metrics(const Call& call) const;
    Response csv(const Call& call) const;
    Response fabric(const Call& call) const;
    Response snapshot(const Call& call) const;
    Response stream(const Call& call) const;
    Response events(const Call& call) const;
    Response alarms(const Call& call) const;
    Response accept_topology(const Call& call) const;
    Response health(const Call& call) const;
    Response port(const Call& call) const;
    Response port_history(const Call& call) const;
    Response set_link(const Call& call) const;
    Response set_switch(const Call& call) const;

    // api_page.cc
    std::expected<telemetry::HistoryReader, Response> open_history() const;
    Response slots(const Call& call) const;
    Response moment(const Call& call) const;
    Response set_route(const Call& call) const;
    Response start_capture(const Call& call);
    Response list_captures(const Call& call);
    Response capture_file(const Call& call);
    Response stop_capture(const Call& call);

    ApiConfig config_;
    Ufm ufm_;
    Explore explore_;
    std::optional<Captures> captures_;
    Router router_;
};

}  // namespace softib::server
