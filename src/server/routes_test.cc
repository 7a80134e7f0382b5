// SPDX-License-Identifier: BSD-2-Clause
// What is accepted acts: for every row of the table of routes, each parameter and each field
// changes the answer or the fabric, or is refused by name.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>

#include "server/test_api.h"
#include "telemetry/store/history.h"

namespace softib::server {
namespace {

using Query = std::map<std::string, std::string>;

constexpr char kSwitch[] = "0000000000000030";
constexpr char kStart[] = "1700000009";

/// Names for the parts of a path in braces.
std::string name_for(const Route& route, std::string_view part) {
    const bool is_page = route.path.starts_with("/page");
    const std::map<std::string_view, std::string> names{
        {"{port...}", "sw0:1"},
        {"{switch...}", "sw0"},
        {"{file...}", "main.js"},
        {"{file}", is_page ? "main.js" : "fabric.topo"},
        {"{set}", "metrics"},
        {"{id}", "1"},
        {"{names}", route.path.find("ports") == std::string_view::npos
                        ? kSwitch
                        : "0000000000000030_1,0000000000000030_2"},
        {"{pkey}", "0x5"},
        {"{guids}", "11"},
        {"{hosts}", "h0"},
        {"{test}", "CheckLinks"}};
    const auto found = names.find(part);
    EXPECT_NE(found, names.end()) << part;
    return found == names.end() ? "x" : found->second;
}

std::string path_of(const Route& route) {
    std::string path;
    for (const std::string_view part : split_path(route.path)) {
        path += "/" + (part.starts_with('{') ? name_for(route, part) : std::string(part));
    }
    return path.empty() ? "/" : path;
}

/// Parameters that must be there for a certain one to show what it does.
Query query_beside(const Route& route, std::string_view parameter) {
    if (route.path.ends_with("/history")) {
        return {{"from", "1700000000"}, {"to", "1700000150"}};
    }
    if (parameter == "zeros") {
        return {{"counters", "brief"}};
    }
    if (parameter == "shard") {
        return {{"num_shards", "2"}};
    }
    return route.path.ends_with("/moment") ? Query{{"time", kStart}} : Query{};
}

/// A body that a route accepts.
Json body_for(const Route& route) {
    const std::string_view path = route.path;
    const Json guids{"0000000000000011"};
    if (path.ends_with("/links/{port...}")) {
        return {{"up", true}};
    }
    if (path.ends_with("/switches/{switch...}")) {
        return {{"on", true}};
    }
    if (path.starts_with("/api/v1/routes")) {
        return {{"lid", 1}, {"port", 1}};
    }
    if (path == "/app/events/external_event") {
        return {{"description", "text"}};
    }
    if (path == "/app/unhealthy_ports") {
        return {{"ports", {"0000000000000030_1"}}, {"ports_policy", "UNHEALTHY"}};
    }
    if (path == "/actions") {
        return {{"action", "mark_device_unhealthy"}, {"object_ids", {kSwitch}}};
    }
    if (path == "/actions/remove_guids_from_pkey") {
        return {{"pkey", "0x5"}, {"guids", guids}};
    }
    if (path == "/resources/pkeys") {
        return {{"pkey", "0x7"}, {"ip_over_ib", true}, {"guids", guids}};
    }
    if (path == "/resources/pkeys/add") {
        return {{"pkey", "0x7"}, {"ip_over_ib", true}};
    }
    if (path == "/resources/pkeys/hosts") {
        return {{"pkey", "0x7"}, {"ip_over_ib", true}, {"hosts_names", "h0"}};
    }
    if (path == "/resources/pkeys/qos_conf") {
        return {{"pkey", "0x5"}, {"mtu_limit", 2}};
    }
    return Json::object();
}

/// Values of which at least one changes what a route does.
const std::map<std::string_view, std::vector<std::string>> kQueryValues{
    {"active", {"true"}},
    {"attr", {"cong"}},
    {"category", {"threshold"}},
    {"counter", {"rcv_packets"}},
    {"counters", {"brief"}},
    {"exporter", {"cable"}},
    {"external", {"false"}},
    {"from", {"1700000020"}},
    {"guids_data", {"true"}},
    {"high_ber_only", {"true"}},
    {"members", {"1"}},
    {"high_ber_severity", {"error"}},
    {"model", {"other"}},
    {"num_shards", {"3"}},
    {"object", {"servers"}},
    {"object_name", {"sw0"}},
    {"page_number", {"1"}},
    {"parent_id", {"1"}},
    {"qos_conf", {"true"}},
    {"ring", {"1"}},
    {"role", {"endpoint"}},
    {"rpp", {"1"}},
    {"severity", {"Minor"}},
    {"shard", {"1"}},
    {"show_disabled", {"false"}},
    {"since", {"2"}},
    {"sys_type", {"Switch", "Computer"}},
    {"system", {"h0"}},
    {"time", {"1700000064"}},
    {"to", {"1700000030"}},
    {"type", {"host", "link_up"}},
    {"zeros", {"all"}},
};
const std::map<std::string_view, std::vector<Json>> kFieldValues{
    {"action", {"mark_device_healthy"}},
    {"description", {"other"}},
    {"event_id", {552}},
    {"external_event_name", {"name"}},
    {"external_event_severity", {"critical"}},
    {"external_event_source", {"somebody"}},
    {"external_event_type", {"type"}},
    {"guids", {Json{"21"}}},
    {"hosts_names", {"h1"}},
    {"index0", {true}},
    {"ip_over_ib", {false}},
    {"lid", {2}},
    {"membership", {"limited"}},
    {"memberships", {Json{"limited"}}},
    {"mtu_limit", {4}},
    {"object_ids", {Json{"0000000000000010"}}},
    {"object_name", {"h0"}},
    {"object_type", {"Port"}},
    {"on", {false}},
    {"otype", {"Port"}},
    {"params", {Json{{"device_policy", "HEALTHY"}}}},
    {"partition_name", {"blue"}},
    {"pkey", {"0x6"}},
    {"port", {2}},
    {"ports", {Json{"0000000000000010_1"}}},
    {"ports_policy", {"HEALTHY"}},
    {"rate_limit", {100}},
    {"service_level", {3}},
    {"severity", {"Critical"}},
    {"up", {false}},
};

class RoutesTest : public ApiTest {
  protected:
    RoutesTest() : file_(testing::TempDir() + "softib-routes-" + std::to_string(getpid())) {}
    ~RoutesTest() override {
        for (const char* const suffix : {"", "-shm", "-wal"}) {
            std::remove((file_ + suffix).c_str());
        }
    }

    /// Makes a fabric where every parameter has something to choose from.
    void prepare() {
        controls_.text.clear();
        controls_.last.clear();
        states_.assign(4, PortState::kActive);
        waits_ = {0, 0, 0, 12'500'000'000};
        auto source = std::make_unique<telemetry::TestSource>();
        source_ = source.get();
        collector_ =
            std::make_unique<telemetry::Collector>(std::move(source), telemetry::built_in_rules());
        std::optional<telemetry::History> history;
        if (!has_history_) {
            history.emplace(
                telemetry::History::open(file_, telemetry::kHistoryBytesDefault).value());
        }
        for (std::uint64_t second = 0; second <= 12; ++second) {
            states_[2] = second > 6 ? PortState::kDown : PortState::kActive;
            step(second * second);
            if (history) {
                history->follow(collector_->snapshot());
            }
        }
        has_history_ = true;
        step(150);
        make_api("", file_);
        ask("POST", "/resources/pkeys",
            R"({"pkey": "0x5", "ip_over_ib": true, "guids": ["11", "21"]})");
        ask("PUT", "/app/unhealthy_ports",
            R"({"ports": ["0000000000000030_2"], "ports_policy": "UNHEALTHY"})");
        ask("POST", "/reports/UFM_Health");
        ask("POST", "/Topology_Compare/networkdiff",
            ask("GET", "/Topology_Compare/topology_file/fabric.topo").body);
        ask("POST", "/fabricValidation/tests/CheckLinks");
        controls_.all.clear();
    }

    /// Returns what a request changes: its answer, and all that it does.
    std::string seen(const Route& route, const Query& query, const std::string& body) {
        prepare();
        const Response answer = ask(std::string(route.method), path_of(route), body, query);
        std::string all = fmt::format("{} {} {}\n{}", answer.status, answer.body,
                                      answer.stream_after.value_or(0), controls_.all);
        all += controls_.text;
        for (const char* const path :
             {"/app/events", "/app/unhealthy_ports", "/jobs", "/reports/4"}) {
            all += ask("GET", path).body;
        }
        return all;
    }
    int status(const Route& route, const Query& query, const std::string& body,
               std::string_view says) {
        const Response answer = ask(std::string(route.method), path_of(route), body, query);
        EXPECT_NE(answer.body.find(says), std::string::npos)
            << route.method << " " << route.path << ": " << answer.body;
        return answer.status;
    }
    std::string text_of(const Route& route) {
        return route.fields.empty() ? "" : to_text(body_for(route));
    }

    void check_parameter(const Route& route, const Parameter& parameter) {
        const std::string name(parameter.name);
        Query query = query_beside(route, name);
        if (!parameter.unserved.empty()) {
            query[name] = "true";
            EXPECT_EQ(status(route, query, text_of(route), name), 400) << route.path;
            ++refused_;
            return;
        }
        if (parameter.choices.size() == 1 || parameter.kind == ValueKind::kNumber ||
            parameter.kind == ValueKind::kFlag) {
            Query wrong = query;
            wrong[name] = "no such value";
            EXPECT_EQ(status(route, wrong, text_of(route), name), 400) << route.path;
        }
        if (parameter.choices.size() == 1 && name != "zeros") {
            ++only_;  // The only value that there is says what happens anyway.
            return;
        }
        const auto values = kQueryValues.find(name);
        ASSERT_NE(values, kQueryValues.end()) << "no value to try for ?" << name;
        const std::string before = seen(route, query, text_of(route));
        bool acts = false;
        for (const std::string& value : values->second) {
            query[name] = value;
            acts = acts || seen(route, query, text_of(route)) != before;
        }
        EXPECT_TRUE(acts) << route.method << " " << route.path << " ?" << name;
        ++acting_;
    }
    void check_field(const Route& route, const Parameter& field) {
        const std::string name(field.name);
        Json body = body_for(route);
        const std::string before = seen(route, {}, to_text(body));
        if (!field.unserved.empty()) {
            body[name] = "x";
            EXPECT_EQ(status(route, {}, to_text(body), name), 400) << route.path;
            ++refused_;
            return;
        }
        if (field.kind != ValueKind::kAny) {
            Json wrong = body;
            wrong[name] = Json{{"a", 1}};
            EXPECT_EQ(status(route, {}, to_text(wrong), name), 400) << route.path;
        }
        if (field.choices.size() == 1) {
            ++only_;
            return;
        }
        const auto values = kFieldValues.find(name);
        const bool is_section = route.path.starts_with("/reports/");
        ASSERT_TRUE(is_section || values != kFieldValues.end()) << "no value to try for " << name;
        bool acts = false;
        for (const Json& value : is_section ? std::vector<Json>{true} : values->second) {
            body[name] = value;
            acts = acts || seen(route, {}, to_text(body)) != before;
        }
        EXPECT_TRUE(acts) << route.method << " " << route.path << " " << name;
        ++acting_;
    }

    std::string file_;
    bool has_history_ = false;
    int acting_ = 0;
    int refused_ = 0;
    int only_ = 0;
};

/// Rows that only a live fabric can answer; tests/cli/test_explore.py asks them.
bool is_live(const Router::Table& table, const Route& route) {
    return table.title == "explore" || route.path.starts_with("/api/v1/captures");
}

TEST_F(RoutesTest, EveryParameterAndFieldActsOrIsRefusedByName) {
    prepare();
    const std::vector<Router::Table> tables = api_->router().tables();
    for (const Router::Table& table : tables) {
        for (const Route& route : table.routes) {
            for (const Parameter& parameter : route.query) {
                if (!is_live(table, route)) {
                    check_parameter(route, parameter);
                }
            }
            for (const Parameter& field : route.fields) {
                if (!is_live(table, route)) {
                    check_field(route, field);
                }
            }
        }
    }
    fmt::print("{} pairs of a route and a parameter act, {} are refused, {} have one value\n",
               acting_, refused_, only_);
    EXPECT_GT(acting_, 100);
}

TEST_F(RoutesTest, NoRouteTakesAParameterOrFieldThatItDoesNotKnow) {
    prepare();
    int pairs = 0;
    const std::vector<Router::Table> tables = api_->router().tables();
    for (const Router::Table& table : tables) {
        for (const Route& route : table.routes) {
            EXPECT_EQ(status(route, {{"frobnicate", "1"}}, "", "frobnicate"), 400) << route.path;
            pairs += 1;
            if (!route.takes_file) {
                EXPECT_EQ(status(route, {}, R"({"frobnicate": 1})", "frobnicate"), 400)
                    << route.path;
                EXPECT_EQ(status(route, {}, "[1]", "JSON object"), 400) << route.path;
                pairs += 2;
            }
            if (!route.fields.empty()) {
                const std::string name(route.fields.front().name);
                const std::string twice = fmt::format(R"({{"{0}": 1, "{0}": 2}})", name);
                EXPECT_EQ(status(route, {}, twice, "'" + name + "' is there twice"), 400);
                ++pairs;
            }
            for (const Parameter& parameter : route.query) {
                const std::string name(parameter.name);
                EXPECT_EQ(status(route, {{name, ""}}, "", name), 400) << route.path << " " << name;
                ++pairs;
                if (parameter.unserved.empty() && parameter.name.size() > 3) {
                    const std::string misspelt(parameter.name.substr(1));
                    EXPECT_EQ(status(route, {{misspelt, "1"}}, "", "did you mean '"), 400)
                        << route.path;
                    ++pairs;
                }
            }
        }
    }
    fmt::print("{} pairs of a route and something unknown are refused\n", pairs);
    EXPECT_EQ(controls_.all, "");
}

TEST_F(RoutesTest, AWrongMethodIsToldTheRightOnes) {
    prepare();
    const std::vector<Router::Table> tables = api_->router().tables();
    for (const Router::Table& table : tables) {
        for (const Route& route : table.routes) {
            const Response answer = ask("PATCH", path_of(route));
            EXPECT_EQ(answer.status, 405) << route.path;
            EXPECT_NE(answer.headers.at("Allow").find(route.method), std::string::npos);
        }
    }
}

TEST_F(RoutesTest, TheDocumentHasTheTableOfRoutes) {
    std::ifstream in(SOFTIB_API_DOC);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    std::string wanted = text;
    for (const Router::Table& table : api_->router().tables()) {
        const std::string mark = fmt::format("<!-- routes: {} -->\n\n", table.title);
        const std::size_t begin = wanted.find(mark);
        ASSERT_NE(begin, std::string::npos) << mark;
        const std::size_t from = begin + mark.size();
        const std::size_t to = wanted.find("\n\n", from);
        wanted.replace(from, to - from, markdown(table).substr(0, markdown(table).size() - 1));
    }
    if (std::getenv("SOFTIB_WRITE_DOCS") != nullptr) {
        std::ofstream(SOFTIB_API_DOC) << wanted;
    }
    EXPECT_TRUE(text == wanted)
        << "docs/api.md differs: SOFTIB_WRITE_DOCS=1 server_test "
           "--gtest_filter='*DocumentHasTheTable*' writes it, then read git diff";
}

}  // namespace
}  // namespace softib::server
