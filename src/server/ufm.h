// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The part of UFM's REST tree that its clients in the field use: below /ufmRest, /ufmRestV2,
// /ufmRestV3, /ufmRestKrb, and without a prefix for plug-ins. Names of fields are UFM's.
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
    std::string dir;         ///< The directory of a softib fabric, to find jobs; empty: none.
    std::string state_file;  ///< The file of the client state; empty: it is kept in memory only.
    std::string token;
    std::string version;
};

class Ufm {
  public:
    explicit Ufm(UfmConfig config)
        : config_(std::move(config)), state_(load_client_state(config_.state_file)) {}

    /// Applies what clients had asked for (client_state.h) to a fabric that has been started, or
    /// started again. Returns a sentence for each thing that could not be done.
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
    /// Isolates a port, or takes it back. Returns the error response if that fails.
    std::optional<Response> set_health(const telemetry::Inventory& inventory,
                                       const std::string& name, bool healthy);
    /// Saves the client state. Returns `response`, or an error response if that fails.
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
    std::mutex mutex_;  ///< Guards the members below, and changes of partitions.
    ClientState state_;
    std::map<std::uint64_t, Report> reports_;
    std::uint64_t next_report_ = 1;
};

// Functions that several of the files ufm*.cc use.

std::string ufm_guid(Guid guid);  ///< Returns the GUID without 0x.
/// Returns UFM's name of a port: GUID_N.
std::string ufm_port_name(const telemetry::Inventory& inventory, std::uint32_t port);
/// Returns whether a list of names, separated by commas, has this one; an empty list has all.
bool is_listed(std::string_view list, std::string_view name);
/// Returns the texts of a JSON list, or a single text as a list; std::nullopt if it is neither.
std::optional<std::vector<std::string>> texts_of(const Json& json);

}  // namespace softib::server
