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
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "server/client_state.h"
#include "server/controls.h"
#include "server/http.h"
#include "server/json.h"
#include "server/route.h"
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
    /// Returns the rows of the tree, with paths that begin behind its prefix.
    std::vector<Route> routes();

  private:
    // ufm.cc
    std::vector<Route> app_routes();
    Response version(const Call& call) const;
    Response access_token(const Call& call) const;
    Response events(const Call& call) const;
    Response alarms(const Call& call) const;
    Response event(const Call& call) const;
    Response remove_event(const Call& call);
    Response external_event(const Call& call);
    Response unhealthy_ports(const Call& call);
    Response mark_ports(const Call& call);
    /// Isolates a port, or takes it back. Returns the error response if that fails.
    std::optional<Response> set_health(const telemetry::Inventory& inventory,
                                       const std::string& name, bool healthy);
    /// Saves the client state. Returns `response`, or an error response if that fails.
    Response saved(Response response) const;

    // ufm_actions.cc
    struct Action;
    static std::span<const Action> all_actions();
    std::vector<Route> action_routes();
    Response act(const Call& call);
    Response resweep(const Call& call);
    Response isolate_devices(const Call& call);
    Response take_back_devices(const Call& call);
    Response mark_devices(const Call& call, bool healthy);
    Response enable_ports(const Call& call);
    Response disable_ports(const Call& call);
    Response reset_ports(const Call& call);
    Response set_ports(const Call& call, bool down, bool up);
    Response job_done(const Call& call, std::size_t ports);

    // ufm_reports.cc
    struct Report {
        std::string kind;
        std::string status;
        std::string summary;
        Json result;
        std::vector<std::string> findings;  ///< What is wrong, one sentence each.
    };
    std::vector<Route> report_routes();
    Response make_report(const Call& call);
    Response report(const Call& call);
    Response list_jobs(const Call& call);
    Response job(const Call& call);
    Json jobs_where(std::string_view id, std::string_view parent);
    Response validations(const Call& call) const;
    Response validate(const Call& call);
    Response make_topology_file(const Call& call) const;
    Response topology_file(const Call& call) const;
    Response compare_topology(const Call& call);
    Response last_comparison(const Call& call);
    std::uint64_t add_report(Report report);

    // ufm_resources.cc
    std::vector<Route> resource_routes();
    Response systems(const Call& call) const;
    Response ports(const Call& call);
    Response links(const Call& call) const;
    Response modules(const Call& call) const;
    Response groups(const Call& call) const;

    // ufm_top.cc
    Route top_route();
    Response top(const Call& call) const;

    // ufm_pkeys.cc
    std::vector<Route> pkey_routes();
    Response list_pkeys(const Call& call);
    Response add_pkey(const Call& call);
    Response replace_pkey(const Call& call);
    Response set_qos(const Call& call);
    Response add_hosts(const Call& call);
    Response remove_guids(const Call& call);
    Response remove_guids_from(const Call& call);
    Response remove_hosts(const Call& call);
    Response remove_pkey(const Call& call);
    Response change_pkey(const Call& call, const std::vector<std::string>& guids, bool replaces);
    Response remove_members(std::string_view pkey, const std::vector<std::string>& guids);
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
/// Returns the items of a list of names, separated by commas.
std::vector<std::string> split_list(std::string_view list);
/// The parameters of lists that come in pages.
extern const Parameter kPageNumber;
extern const Parameter kPageRows;
/// Answers with a list, or with the page of it that the call asks for, as {"data": …}. A page
/// behind the last one is empty.
Response paged(const Call& call, Json list);
/// Adds rows to others.
void append(std::vector<Route>& routes, std::vector<Route> more);

}  // namespace softib::server
