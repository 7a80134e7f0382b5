// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// UFM's REST tree, as its clients in the field use it: below /ufmRest, /ufmRestV2, /ufmRestV3,
// /ufmRestKrb, and without a prefix for plug-ins. Names of fields are UFM's.
//
// Thread rule: any thread may call handle().

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/client_state.h"
#include "server/controls.h"
#include "server/http.h"
#include "server/json.h"
#include "telemetry/collector.h"

namespace softib::server {

struct UfmConfig {
    telemetry::Collector* collector = nullptr;
    Controls* controls = nullptr;
    std::string dir;         ///< Of a fabric of ours, for jobs on it; empty: there are none to see.
    std::string state_file;  ///< What clients asked for; empty: it is kept in memory alone.
    std::string token;
    std::string version;
};

class Ufm {
  public:
    explicit Ufm(UfmConfig config)
        : config_(std::move(config)), state_(load_client_state(config_.state_file)) {}

    /// Gives a fabric that has come, or come back, what clients had asked for. Returns what could
    /// not be done.
    std::vector<std::string> restore();
    Response handle(const Request& request, std::vector<std::string_view> path);

  private:
    using Path = std::vector<std::string_view>;

    // ufm.cc
    Response app(const Request& request, const Path& path);
    Response events(const Request& request, const Path& path);
    Response external_event(const Request& request);
    Response unhealthy_ports(const Request& request);
    Response actions(const Request& request, const Path& path);
    Response mark_devices(const Json& body, const std::string& action);
    /// Returns the refusal.
    std::optional<Response> set_health(const telemetry::Inventory& inventory,
                                       const std::string& name, bool healthy);
    /// Writes the state down; returns the response if that was possible.
    Response saved(Response response) const;

    // ufm_reports.cc
    struct Report {
        std::string kind;
        std::string status;
        std::string summary;
        Json result;
        std::vector<std::string> findings;  ///< What is wrong, one sentence each.
    };
    Response reports(const Request& request, const Path& path);
    Response jobs(const Request& request, const Path& path);
    Response validation(const Request& request, const Path& path);
    Response topology(const Request& request, const Path& path);
    std::uint64_t add_report(Report report);

    // ufm_resources.cc
    Response resources(const Request& request, const Path& path);
    Response systems(const Request& request, const Path& path) const;
    Response ports(const Request& request) const;
    Response links(const Request& request) const;
    Response modules() const;
    Response groups() const;

    // ufm_top.cc
    Response top(const Request& request) const;

    // ufm_pkeys.cc
    Response pkeys(const Request& request, const Path& path);
    Response list_pkeys(const Request& request, const Path& path);
    Response change_pkey(const Request& request, bool replaces);
    Response add_hosts(const Request& request);
    Response remove_guids(std::string_view pkey, const std::vector<std::string>& guids);
    Response remove_hosts(std::string_view pkey, std::string_view hosts);
    Response remove_pkey(std::string_view pkey);
    template <typename Change>
    Response change_book(Change&& change);
    std::optional<std::string> restore_partitions();

    UfmConfig config_;
    std::mutex mutex_;  ///< For all below, and for changes of partitions.
    ClientState state_;
    std::map<std::uint64_t, Report> reports_;
    std::uint64_t next_report_ = 1;
};

// What several of its files need.
std::string ufm_guid(Guid guid);  ///< Without 0x.
std::string ufm_port_name(const telemetry::Inventory& inventory, std::uint32_t port);
/// Returns whether a list of port or system names (by commas) has this one; an empty list has all.
bool is_listed(std::string_view list, std::string_view name);
/// Returns texts of a JSON list, or the one text; std::nullopt: it is neither.
std::optional<std::vector<std::string>> texts_of(const Json& json);

}  // namespace softib::server
