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

/// A section of UFM's report on a fabric, and the health check that it is here; or why there is
/// none.
struct Section {
    std::string_view name;
    std::string_view check;
    std::string_view why{};
};
constexpr std::string_view kOptical = "cables have no optics and no EEPROM";
constexpr std::array<Section, 19> kSections{
    {{"duplicate_nodes", "duplicates"},
     {"map_guids_desc", "", "fabricValidation/tests/CheckDuplicateGuids tests it"},
     {"duplicate_zero_and_lids", "lids"},
     {"non_opt_links", "links"},
     {"non_opt_speed_width", "speed"},
     {"link_speed", "speed"},
     {"link_width", "speed"},
     {"symbol_ber_check", "errors"},
     {"ufm_alarms", "alarms"},
     {"effective_ber_check", "", "links have no error correction to look into"},
     {"phy_port_grade", "", kOptical},
     {"cables", "", kOptical},
     {"cables_errors_only", "", kOptical},
     {"eye_open", "", kOptical},
     {"eye_open_errors_only", "", kOptical},
     {"min_bound", "", kOptical},
     {"max_bound", "", kOptical},
     {"firmware", "", "nodes have no firmware"},
     {"sm_state", "", "softib sm status tells it"}}};

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

std::vector<Route> Ufm::report_routes() {
    using enum ValueKind;
    std::vector<Parameter> sections;
    for (const Section& section : kSections) {
        // Some of those that this server cannot make have bounds instead of true and false.
        sections.push_back({section.name, section.check.empty() ? kAny : kFlag,
                            section.check.empty() ? section.why : section.check});
    }
    return {
        post("/reports/Fabric_Health", answer_by(this, &Ufm::make_report),
             "202 and `report_id`. Without fields the report has the checks of `softib health`; "
             "with them, those that are true. One that this server cannot make has `ok` null in "
             "the report",
             sections),
        post("/reports/UFM_Health", answer_by(this, &Ufm::make_report),
             "the checks of `softib health`"),
        get("/reports/{id}", answer_by(this, &Ufm::report), "the report"),
        get("/jobs", answer_by(this, &Ufm::list_jobs),
            "reports that are done, programs on the fabric's hosts (`pid-N`), SHARP jobs "
            "(`sharp-N`)",
            {{"parent_id", kText, "the parts of a test: what failed"}}),
        get("/jobs/{id}", answer_by(this, &Ufm::job), "a job"),
        get("/fabricValidation/tests", answer_by(this, &Ufm::validations), "the tests"),
        post("/fabricValidation/tests/{test}", answer_by(this, &Ufm::validate),
             "202 and the path of a job, whose parts (`jobs?parent_id=`) say what failed"),
        post("/Topology_Compare/topology_file", answer_by(this, &Ufm::make_topology_file),
             "the name of a file"),
        get("/Topology_Compare/topology_file/{file}", answer_by(this, &Ufm::topology_file),
            "the topology as ibnetdiscover writes it"),
        {.method = "POST",
         .path = "/Topology_Compare/networkdiff",
         .handler = answer_by(this, &Ufm::compare_topology),
         .answer = "the number of a job; the body is a topology, or a form with the file",
         .takes_file = true},
        get("/Topology_Compare/networkdiff", answer_by(this, &Ufm::last_comparison),
            "nodes and cables that came, went or moved since that topology"),
    };
}

Response Ufm::make_report(const Call& call) {
    const auto snapshot = config_.collector->snapshot();
    auto checks = telemetry::check_health(*snapshot, config_.collector->alarms());
    if (call.field("duplicate_nodes", Json(false)) != false) {
        checks.push_back(check_duplicates(*snapshot->inventory, true));
    }
    Json result = to_json(checks);
    if (!call.body.empty()) {
        Json list = Json::array();
        for (const Section& section : kSections) {
            const auto wanted = call.body.find(section.name);
            if (wanted == call.body.end() || *wanted == false) {
                continue;
            }
            for (const Json& check : result["checks"]) {
                if (check["name"] == section.check) {
                    list.push_back(check);
                }
            }
            if (section.check.empty()) {
                list.push_back({{"name", section.name},
                                {"ok", nullptr},
                                {"severity", "Info"},
                                {"text", fmt::format("not implemented here: {}", section.why)},
                                {"objects", Json::array()}});
            }
        }
        result["ok"] = std::ranges::none_of(list, [](auto& each) { return each["ok"] == false; });
        result["checks"] = std::move(list);
    }
    const std::string kind(split_path(call.request.path).back());
    const std::uint64_t id = add_report({kind, kCompleted, "", std::move(result), {}});
    return Response::accepted(to_text({{"report_id", id}, {"job_id", std::to_string(id)}}));
}

Response Ufm::report(const Call& call) {
    const std::lock_guard lock(mutex_);
    const auto id = number_of(call.name(), 0, UINT64_MAX);
    const auto report = id ? reports_.find(*id) : reports_.end();
    return report == reports_.end()
               ? Response::error(404, fmt::format("no report '{}'", call.name()))
               : Response::json(to_text(report->second.result));
}

Response Ufm::list_jobs(const Call& call) {
    return Response::json(to_text(jobs_where("", call.text("parent_id"))));
}

Response Ufm::job(const Call& call) {
    const Json found = jobs_where(call.name(), "");
    return found.empty() ? Response::error(404, fmt::format("no job '{}'", call.name()))
                         : Response::json(to_text(found[0]));
}

/// Returns the job with an id, the parts of a job, or all jobs if both ids are empty.
Json Ufm::jobs_where(std::string_view what, std::string_view parent) {
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
    return list;
}

Response Ufm::validations(const Call&) const {
    Json names = Json::array();
    for (const Validation& known : kValidations) {
        names.push_back(known.test);
    }
    return Response::json(to_text(names));
}

Response Ufm::validate(const Call& call) {
    const std::string_view test = call.name();
    const auto known = std::ranges::find(kValidations, test, &Validation::test);
    if (known == kValidations.end()) {
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

Response Ufm::make_topology_file(const Call&) const {
    return Response::json(to_text({{"file_name", kTopologyFile}}));
}

Response Ufm::topology_file(const Call& call) const {
    return call.name() != kTopologyFile
               ? Response::error(404, fmt::format("no file '{}'", call.name()))
               : Response::text(
                     topo::write_ibnetdiscover(to_graph(*config_.collector->snapshot()->inventory)),
                     "text/plain; charset=utf-8");
}

/// Compares the topology with one that a client sends.
Response Ufm::compare_topology(const Call& call) {
    const auto graph = topo::read_netlist(call.request.body, "the file");
    if (!graph || graph->nodes.empty()) {
        return Response::error(400, graph ? "the file has no nodes: send what ibnetdiscover or "
                                            "softib topo --ibnetdiscover wrote"
                                          : graph.error().message);
    }
    const auto snapshot = config_.collector->snapshot();
    Json result = difference_json(telemetry::from_graph(*graph), *snapshot->inventory);
    const std::uint64_t id =
        add_report({"Topology_Compare", kCompleted, "", std::move(result), {}});
    return Response::json(std::to_string(id));
}

Response Ufm::last_comparison(const Call&) {
    const std::lock_guard lock(mutex_);
    for (auto report = reports_.rbegin(); report != reports_.rend(); ++report) {
        if (report->second.kind == "Topology_Compare") {
            return Response::json(to_text(report->second.result));
        }
    }
    return Response::error(404, "nothing was compared yet: POST a topology first");
}

}  // namespace softib::server
