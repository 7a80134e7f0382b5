// SPDX-License-Identifier: BSD-2-Clause
// Reports, validation tests, comparisons of topologies, and jobs of UFM's tree. A report is made
// before its request is answered; a client that asks for its job sees it completed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "core/topo/netlist.h"
#include "server/jobs.h"
#include "server/ufm.h"
#include "telemetry/health.h"

namespace softib::server {

namespace {

using telemetry::Check;
using telemetry::Difference;
using telemetry::Inventory;
using telemetry::Node;

constexpr std::size_t kReportsMax = 100;
constexpr std::string_view kTopologyFile = "fabric.topo";
constexpr char kCompleted[] = "Completed";
constexpr char kWithErrors[] = "Completed With Errors";

/// A validation test of UFM that this server can do, and the health check that it runs; a test
/// without one is done in this file.
struct Validation {
    std::string_view test;
    std::string_view check;
};
constexpr std::array<Validation, 7> kValidations{{{"CheckLids", "lids"},
                                                  {"CheckLinks", "links"},
                                                  {"CheckLinkSpeed", "speed"},
                                                  {"CheckLinkWidth", "speed"},
                                                  {"CheckSymbolBER", "errors"},
                                                  {"CheckDuplicateNodes", ""},
                                                  {"CheckDuplicateGuids", ""}}};

/// Checks for names or GUIDs that several nodes have.
Check check_duplicates(const Inventory& inventory, bool by_name) {
    Check check{"duplicates", telemetry::Severity::kInfo, "every node has its own", {}};
    std::map<std::string, std::size_t> count;
    for (const Node& node : inventory.nodes) {
        ++count[by_name ? node.name : to_string(node.guid)];
    }
    for (const auto& [value, nodes] : count) {
        if (nodes > 1) {
            check.objects.push_back(fmt::format("{} nodes have {}", nodes, value));
        }
    }
    if (!check.objects.empty()) {
        check.severity = telemetry::Severity::kMinor;
        check.text = fmt::format("{} are not unique", by_name ? "names" : "GUIDs");
    }
    return check;
}

Json difference_json(const Inventory& expected, const Inventory& found) {
    std::array<Json, 2> nodes{Json::array(), Json::array()};  // Added, removed.
    std::array<Json, 2> links{Json::array(), Json::array()};
    Json moved = Json::array();
    for (const Difference& difference : telemetry::compare(expected, found)) {
        switch (difference.kind) {
            case Difference::kNodeNew: {
                const auto node = std::ranges::find(found.nodes, difference.object, &Node::name);
                nodes[0].push_back({{"guid", node == found.nodes.end() ? "" : ufm_guid(node->guid)},
                                    {"system_name", difference.object}});
                break;
            }
            case Difference::kNodeGone:
                nodes[1].push_back(difference.object);
                break;
            case Difference::kCableNew:
                links[0].push_back(difference.text);
                break;
            case Difference::kCableGone:
                links[1].push_back(difference.text);
                break;
            case Difference::kCableMoved:
                moved.push_back(difference.text);
                break;
        }
    }
    return {{"added", {{"nodes", std::move(nodes[0])}, {"links", std::move(links[0])}}},
            {"removed", {{"nodes", std::move(nodes[1])}, {"links", std::move(links[1])}}},
            {"moved", std::move(moved)}};
}

Json fabric_job_json(const Job& job) {
    return {{"ID", job.id},
            {"Operation", job.kind},
            {"Description", job.name},
            {"Status", job.failed ? kWithErrors : "Running"},
            {"Summary", job.text},
            {"RelatedObjects", job.objects}};
}

}  // namespace

std::uint64_t Ufm::add_report(Report report) {
    const std::lock_guard lock(mutex_);
    if (reports_.size() >= kReportsMax) {
        reports_.erase(reports_.begin());
    }
    reports_[next_report_] = std::move(report);
    return next_report_++;
}

Response Ufm::reports(const Request& request, const Path& path) {
    const std::string_view what = path.size() > 1 ? path[1] : std::string_view{};
    if (request.method == "POST") {
        if (what != "Fabric_Health" && what != "UFM_Health") {
            return Response::error(404, "reports are: Fabric_Health, UFM_Health");
        }
        const auto checks =
            telemetry::check_health(*config_.collector->snapshot(), config_.collector->alarms());
        const std::uint64_t id =
            add_report({std::string(what), kCompleted, "", to_json(checks), {}});
        return Response::accepted(to_text({{"report_id", id}, {"job_id", std::to_string(id)}}));
    }
    const std::lock_guard lock(mutex_);
    const auto id = number_of(what, 0, UINT64_MAX);
    const auto report = id ? reports_.find(*id) : reports_.end();
    if (request.is_write() || report == reports_.end()) {
        return Response::error(404, fmt::format("no report '{}'", what));
    }
    return Response::json(to_text(report->second.result));
}

/// Answers with jobs. ?parent_id=N lists what a test found, one job for each object.
Response Ufm::jobs(const Request& request, const Path& path) {
    if (request.is_write()) {
        return Response::error(405, "jobs can only be looked at");
    }
    const std::string_view what = path.size() > 1 ? path[1] : std::string_view{};
    const std::string_view parent = request.parameter("parent_id");
    std::vector<Job> running = fabric_jobs(config_.dir);
    Json list = Json::array();
    const auto add_if = [&](bool wanted, Json job) {
        if (wanted) {
            list.push_back(std::move(job));
        }
    };
    const std::lock_guard lock(mutex_);
    for (const auto& [number, report] : reports_) {
        const std::string id = std::to_string(number);
        add_if(parent.empty() && (what.empty() || what == id), {{"ID", id},
                                                                {"Operation", report.kind},
                                                                {"Status", report.status},
                                                                {"Progress", 100},
                                                                {"Summary", report.summary}});
        for (std::size_t i = 0; i < report.findings.size(); ++i) {
            const std::string part = fmt::format("{}.{}", id, i + 1);
            add_if(parent.empty() ? what == part : parent == id, {{"ID", part},
                                                                  {"Operation", report.kind},
                                                                  {"Status", kWithErrors},
                                                                  {"Progress", 100},
                                                                  {"Summary", report.findings[i]}});
        }
    }
    for (const Job& job : running) {
        add_if(parent.empty() && (what.empty() || what == job.id), fabric_job_json(job));
    }
    if (what.empty()) {
        return Response::json(to_text(list));
    }
    return list.empty() ? Response::error(404, fmt::format("no job '{}'", what))
                        : Response::json(to_text(list[0]));
}

Response Ufm::validation(const Request& request, const Path& path) {
    const std::string_view test = path.size() > 2 ? path[2] : std::string_view{};
    if (!request.is_write() && test.empty()) {
        Json names = Json::array();
        for (const Validation& known : kValidations) {
            names.push_back(known.test);
        }
        return Response::json(to_text(names));
    }
    const auto known = std::ranges::find(kValidations, test, &Validation::test);
    if (request.method != "POST" || known == kValidations.end()) {
        return Response::error(
            404, fmt::format("no test '{}'; GET fabricValidation/tests lists them", test));
    }
    const auto snapshot = config_.collector->snapshot();
    Check found = check_duplicates(*snapshot->inventory, known->test == "CheckDuplicateNodes");
    for (Check& check : telemetry::check_health(*snapshot, config_.collector->alarms())) {
        if (check.name == known->check) {
            found = std::move(check);
        }
    }
    const std::uint64_t id = add_report({std::string(test), found.ok() ? kCompleted : kWithErrors,
                                         found.text, to_json({found}), found.objects});
    return Response::accepted(to_text(Json(fmt::format("/ufmRest/jobs/{}", id))));
}

/// Answers with the topology as ibnetdiscover writes it, or compares it with one that a client
/// sends.
Response Ufm::topology(const Request& request, const Path& path) {
    const std::string_view what = path.size() > 1 ? path[1] : std::string_view{};
    const auto snapshot = config_.collector->snapshot();
    if (what == "topology_file" && request.method == "POST") {
        return Response::json(to_text({{"file_name", kTopologyFile}}));
    }
    if (what == "topology_file" && !request.is_write() && path.size() > 2 &&
        path[2] == kTopologyFile) {
        return Response::text(topo::write_ibnetdiscover(to_graph(*snapshot->inventory)),
                              "text/plain; charset=utf-8");
    }
    if (what == "networkdiff" && request.method == "POST") {
        const auto graph = topo::read_netlist(request.body, "the file");
        if (!graph || graph->nodes.empty()) {
            return Response::error(400, graph ? "the file has no nodes: send what ibnetdiscover or "
                                                "softib topo --ibnetdiscover wrote"
                                              : graph.error().message);
        }
        Json result = difference_json(telemetry::from_graph(*graph), *snapshot->inventory);
        const std::uint64_t id =
            add_report({"Topology_Compare", kCompleted, "", std::move(result), {}});
        return Response::json(std::to_string(id));
    }
    if (what == "networkdiff" && !request.is_write()) {
        const std::lock_guard lock(mutex_);
        for (auto report = reports_.rbegin(); report != reports_.rend(); ++report) {
            if (report->second.kind == "Topology_Compare") {
                return Response::json(to_text(report->second.result));
            }
        }
        return Response::error(404, "nothing was compared yet: POST a topology first");
    }
    return Response::error(404, "Topology_Compare has topology_file and networkdiff");
}

}  // namespace softib::server
