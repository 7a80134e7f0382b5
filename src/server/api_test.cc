// SPDX-License-Identifier: BSD-2-Clause
#include "server/api.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "server/delta.h"
#include "server/json.h"
#include "telemetry/test_fabric.h"

namespace softib::server {
namespace {

using telemetry::Collector;
using telemetry::TestSource;

/// Controls that remember the last request.
class FakeControls final : public Controls {
  public:
    Done set_link(const std::string& node, std::uint8_t port, bool up) override {
        last = node + ":" + std::to_string(port) + (up ? " up" : " down");
        return {};
    }
    Done set_switch(const std::string& name, bool on) override {
        last = name + (on ? " on" : " off");
        return {};
    }
    std::string partitions() override { return text; }
    Done set_partitions(const std::string& wanted) override {
        text = wanted;
        return {};
    }
    Done resweep() override { return {}; }

    std::string last;
    std::string text;
};

class ApiTest : public testing::Test {
  protected:
    ApiTest() {
        auto source = std::make_unique<TestSource>();
        source_ = source.get();
        collector_ = std::make_unique<Collector>(std::move(source), telemetry::built_in_rules());
        make_api("");
        step(0);
    }
    void make_api(std::string state_file) {
        api_ = std::make_unique<Api>(ApiConfig{.collector = collector_.get(),
                                               .controls = &controls_,
                                               .allow_control = true,
                                               .dir = "",
                                               .history = "",
                                               .state_file = std::move(state_file),
                                               .token = "secret",
                                               .version = "1.2",
                                               .metrics = {}});
    }
    void step(std::uint64_t seconds) {
        telemetry::Snapshot snapshot = telemetry::test_snapshot(1, seconds, inventory_);
        for (auto& counts : snapshot.sample.counts) {
            counts.xmit_words = 1000 * seconds;
            counts.xmit_packets = 10 * seconds;
            counts.rcv_packets = 10 * seconds;
        }
        for (std::size_t i = 0; i < waits_.size(); ++i) {
            snapshot.sample.counts[i].xmit_wait = waits_[i];
        }
        snapshot.sample.states = states_;
        source_->next = telemetry::Reading{inventory_, snapshot.sample, {}};
        collector_->step();
    }
    Response ask(std::string method, std::string path, std::string body = "",
                 std::map<std::string, std::string> query = {}) {
        return api_->handle(
            {std::move(method), std::move(path), std::move(query), {}, std::move(body)});
    }
    Json json(std::string path, std::map<std::string, std::string> query = {}) {
        const Response response = ask("GET", std::move(path), "", std::move(query));
        EXPECT_EQ(response.status, 200) << response.body;
        return Json::parse(response.body, nullptr, false);
    }

    std::shared_ptr<const telemetry::Inventory> inventory_ =
        std::make_shared<const telemetry::Inventory>(telemetry::test_inventory());
    std::vector<PortState> states_ = std::vector<PortState>(4, PortState::kActive);
    std::vector<std::uint64_t> waits_ = std::vector<std::uint64_t>(4, 0);
    TestSource* source_ = nullptr;
    std::unique_ptr<Collector> collector_;
    FakeControls controls_;
    std::unique_ptr<Api> api_;
};

TEST_F(ApiTest, ASnapshotHasAllPortsInColumns) {
    step(1);
    const Json snapshot = json("/api/v1/snapshot");
    EXPECT_EQ(snapshot["nodes"]["name"][2], "sw0");
    EXPECT_EQ(snapshot["ports"]["peer"], (Json{2, 3, 0, 1}));
    EXPECT_EQ(snapshot["ports"]["state"], (Json{4, 4, 4, 4}));
}

TEST_F(ApiTest, ADeltaHasOnlyWhatChanged) {
    DeltaMaker maker;
    EXPECT_EQ(Json::parse(maker.next(*collector_->snapshot()))["ports"]["port"].size(), 4U);
    for (const Json& column : Json::parse(maker.next(*collector_->snapshot()))["ports"]) {
        EXPECT_TRUE(column.empty());
    }
    states_[2] = PortState::kDown;
    step(1);
    const Json delta = Json::parse(maker.next(*collector_->snapshot()));
    const Json& ports = delta["ports"]["port"];
    const auto found = std::ranges::find(ports, Json(2));
    ASSERT_NE(found, ports.end());
    EXPECT_EQ(delta["ports"]["state"][static_cast<std::size_t>(found - ports.begin())], 1);
    for (const Json& column : delta["ports"]) {
        EXPECT_EQ(column.size(), ports.size());
    }
}

TEST_F(ApiTest, APortIsShownByItsName) {
    step(1);
    const Json port = json("/api/v1/ports/h0/mlx5_0:1");
    EXPECT_EQ(port["peer"], "sw0:1");
    EXPECT_EQ(port["counters"]["xmit_words"], 1000);
    EXPECT_FLOAT_EQ(port["rates"]["xmit_bytes"].get<float>(), 4000);
    EXPECT_EQ(ask("GET", "/api/v1/ports/sw0:77").status, 404);
}

TEST_F(ApiTest, ALinkThatGoesDownIsAnAlarmUntilItIsBack) {
    states_[2] = PortState::kDown;
    step(1);
    EXPECT_EQ(json("/api/v1/alarms")["alarms"][0]["kind"], "link_down");
    EXPECT_FALSE(json("/api/v1/health")["ok"].get<bool>());
    states_[2] = PortState::kActive;
    step(2);
    EXPECT_TRUE(json("/api/v1/alarms")["alarms"].empty());
}

TEST_F(ApiTest, AFabricThatIsGoneIsSaidAndTheLastNumbersStay) {
    source_->next = std::unexpected("fabric test does not answer");
    collector_->step();
    const Json fabric = json("/api/v1/fabric");
    EXPECT_EQ(fabric["trouble"], "fabric test does not answer");
    EXPECT_EQ(fabric["ports"], 4);
    EXPECT_NE(ask("GET", "/metrics").body.find("softib_telemetry_up 0"), std::string::npos);
    step(5);
    EXPECT_EQ(json("/api/v1/fabric")["trouble"], "");
    EXPECT_TRUE(json("/api/v1/alarms")["alarms"].empty());
}

TEST_F(ApiTest, ShardsTogetherHaveEveryPortOnce) {
    std::size_t lines = 0;
    for (const char* const shard : {"0", "1", "2"}) {
        const Response part =
            ask("GET", "/csv/minimal", "", {{"num_shards", "3"}, {"shard", shard}});
        lines += static_cast<std::size_t>(std::ranges::count(part.body, '\n')) - 1;
    }
    EXPECT_EQ(lines, 4U);
    EXPECT_EQ(ask("GET", "/csv/minimal", "", {{"num_shards", "0"}}).status, 400);
    EXPECT_EQ(ask("GET", "/csv/nothing").status, 404);
}

TEST_F(ApiTest, MetricsTellTheCountersThatAreAskedFor) {
    const auto body = [&](std::map<std::string, std::string> query) {
        const Response response = ask("GET", "/metrics", "", std::move(query));
        EXPECT_EQ(response.status, 200) << response.body;
        return response.body;
    };
    const std::string waits = "\ninfiniband_portxmitwait_total{";
    EXPECT_NE(body({{"exporter", "cable"}}).find(waits), std::string::npos) << "few ports";
    EXPECT_EQ(body({{"exporter", "cable"}, {"counters", "brief"}}).find(waits), std::string::npos);
    EXPECT_NE(body({{"exporter", "cable"}, {"counters", "traffic"}}).find(waits),
              std::string::npos);
    EXPECT_EQ(ask("GET", "/metrics", "", {{"counters", "some"}}).status, 400);
}

TEST_F(ApiTest, WhatOnlyARunningFabricKnowsIsSaidSo) {
    for (const char* const what : {"path", "trees", "jobs", "pkeys", "routes/sw0", "whatif"}) {
        const Response answer = ask("GET", std::string("/api/v1/") + what);
        EXPECT_EQ(answer.status, 404) << what;
        EXPECT_NE(answer.body.find("only a running fabric"), std::string::npos) << what;
    }
    EXPECT_EQ(ask("GET", "/api/v1/slots").status, 404) << "there is no history";
    EXPECT_EQ(ask("GET", "/api/v1/moment", "", {{"time", "x"}}).status, 400);
    EXPECT_EQ(ask("POST", "/api/v1/routes/sw0", "[]").status, 400);
    EXPECT_EQ(ask("POST", "/api/v1/routes/sw0", R"({"lid": 1, "port": 2})").status, 409);
}

TEST_F(ApiTest, ControlsAreNamedByPorts) {
    EXPECT_EQ(ask("POST", "/api/v1/links/sw0:2", R"({"up": false})").status, 200);
    EXPECT_EQ(controls_.last, "sw0:2 down");
    EXPECT_EQ(ask("POST", "/api/v1/links/sw0:2", "[]").status, 400);
    EXPECT_EQ(ask("POST", "/api/v1/links/sw0:9", R"({"up": false})").status, 404);
    EXPECT_EQ(ask("POST", "/api/v1/switches/sw0", R"({"on": true})").status, 200);
    EXPECT_EQ(controls_.last, "sw0 on");
}

TEST_F(ApiTest, UfmsTreeIsTheSameUnderAllItsNames) {
    for (const char* const prefix : {"/ufmRest", "/ufmRestV2", "/ufmRestV3", ""}) {
        EXPECT_EQ(json(std::string(prefix) + "/resources/ports").size(), 4U) << prefix;
        EXPECT_EQ(json(std::string(prefix) + "/app/ufm_version")["ufm_release_version"], "1.2");
    }
}

TEST_F(ApiTest, UfmsPortsAndLinksNameBothEnds) {
    const Json port = json("/ufmRest/resources/ports", {{"system", "0000000000000020"}});
    ASSERT_EQ(port.size(), 1U);
    EXPECT_EQ(port[0]["name"], "0000000000000021_1");
    EXPECT_EQ(port[0]["peer"], "0000000000000030_2");
    EXPECT_EQ(port[0]["logical_state"], "Active");
    const Json links = json("/ufmRest/resources/links", {{"page_number", "1"}});
    ASSERT_EQ(links["data"].size(), 2U);
    EXPECT_EQ(links["data"][0]["name"], "0000000000000011_1:0000000000000030_1");
}

TEST_F(ApiTest, APartitionIsMadeListedAndRemovedByGuids) {
    const std::string body = R"({"pkey": "0x5", "guids": ["0x0000000000000021", "11"],
                                 "memberships": ["full", "limited"], "ip_over_ib": true})";
    EXPECT_EQ(ask("POST", "/ufmRest/resources/pkeys", body).status, 200);
    const Json one = json("/ufmRest/resources/pkeys/0x5", {{"guids_data", "true"}});
    EXPECT_EQ(one["guids"].size(), 2U);
    EXPECT_EQ(one["ip_over_ib"], true);
    EXPECT_EQ(ask("POST", "/ufmRest/actions/remove_guids_from_pkey",
                  R"({"pkey": "0x5", "guids": ["21"]})")
                  .status,
              200);
    EXPECT_EQ(json("/ufmRest/resources/pkeys/0x5", {{"guids_data", "true"}})["guids"].size(), 1U);
    EXPECT_EQ(ask("DELETE", "/ufmRest/resources/pkeys/0x5").status, 200);
    EXPECT_TRUE(json("/ufmRest/resources/pkeys/0x5").empty());
    EXPECT_EQ(ask("DELETE", "/ufmRest/resources/pkeys/0x5").status, 404);
}

TEST_F(ApiTest, HostsArePutIntoAPartitionByName) {
    EXPECT_EQ(
        ask("POST", "/ufmRest/resources/pkeys/hosts", R"({"pkey": "0x6", "hosts_names": "h0,h1"})")
            .status,
        200);
    EXPECT_EQ(json("/ufmRest/resources/pkeys/0x6", {{"guids_data", "true"}})["guids"].size(), 2U);
    EXPECT_EQ(ask("DELETE", "/ufmRest/resources/pkeys/0x6/hosts/h1").status, 200);
    EXPECT_EQ(json("/ufmRest/resources/pkeys/0x6", {{"guids_data", "true"}})["guids"].size(), 1U);
    EXPECT_EQ(
        ask("POST", "/ufmRest/resources/pkeys/hosts", R"({"pkey": "0x6", "hosts_names": "nobody"})")
            .status,
        400);
}

TEST_F(ApiTest, WrongPartitionsAreRefusedAndChangeNothing) {
    for (const char* const body :
         {"", "[]", R"({"pkey": 5})", R"({"pkey": "0x0"})", R"({"pkey": "x"})",
          R"({"pkey": "0x5", "guids": 3})", R"({"pkey": "0x5", "guids": ["99"]})",
          R"({"pkey": "0x5", "guids": ["11"], "membership": "half"})"}) {
        EXPECT_EQ(ask("POST", "/ufmRest/resources/pkeys", body).status, 400) << body;
    }
    EXPECT_EQ(controls_.text, "");
}

TEST_F(ApiTest, AnUnhealthyPortIsTakenOutAndComesBack) {
    const std::string name = "0000000000000030_2";
    const auto put = [&](const char* policy) {
        return ask("PUT", "/app/unhealthy_ports",
                   R"({"ports": [")" + name + R"("], "ports_policy": ")" + policy +
                       R"(", "action": "isolate"})")
            .status;
    };
    EXPECT_EQ(put("UNHEALTHY"), 200);
    EXPECT_EQ(controls_.last, "sw0:2 down");
    EXPECT_EQ(json("/ufmRest/app/unhealthy_ports")[0]["name"], name);
    EXPECT_EQ(put("HEALTHY"), 200);
    EXPECT_EQ(controls_.last, "sw0:2 up");
    EXPECT_TRUE(json("/ufmRest/app/unhealthy_ports").empty());
    EXPECT_EQ(put("OTHER"), 400);
}

TEST_F(ApiTest, ADeviceIsTakenOutByAJobAndOneOfItsPortsComesBack) {
    const auto mark = [&](const std::string& action, const std::string& ids) {
        return ask("POST", "/ufmRest/actions",
                   R"({"action": ")" + action + R"(", "object_ids": )" + ids + "}");
    };
    const Response taken = mark("mark_device_unhealthy", R"(["0000000000000030"])");
    ASSERT_EQ(taken.status, 202) << taken.body;
    EXPECT_EQ(json(taken.headers.at("Location"))["Status"], "Completed");
    const Json ports = json("/ufmRest/app/unhealthy_ports");
    ASSERT_EQ(ports.size(), 2U) << "the switch has two";
    EXPECT_EQ(ports[0]["PeerGUID"], "0000000000000011");
    EXPECT_EQ(ports[0]["PeerPortDname"], "1");
    ASSERT_EQ(ask("PUT", "/ufmRest/app/unhealthy_ports",
                  R"({"ports": ["0000000000000030_2"], "ports_policy": "HEALTHY"})")
                  .status,
              200);
    EXPECT_EQ(json("/ufmRest/app/unhealthy_ports")[0]["name"], "0000000000000030_1");
    EXPECT_EQ(mark("mark_device_healthy", R"(["sw0"])").status, 202);
    EXPECT_TRUE(json("/ufmRest/app/unhealthy_ports").empty());
    EXPECT_EQ(mark("mark_device_unhealthy", R"(["nobody"])").status, 404);
    EXPECT_EQ(mark("mark_device_unhealthy", "5").status, 400);
}

TEST_F(ApiTest, ActionsThatAreNoneAreRefusedWithASentence) {
    for (const char* const body : {R"({"action": 5})", "{}", "[]", R"({"action": null})"}) {
        EXPECT_EQ(ask("POST", "/ufmRest/actions", body).status, 400) << body;
    }
    EXPECT_EQ(ask("POST", "/ufmRest/actions", R"({"action": "dance"})").status, 404);
}

TEST_F(ApiTest, WhatClientsAskedForOutlivesServerAndFabric) {
    const std::string file = testing::TempDir() + "softib-client-state-" + std::to_string(getpid());
    make_api(file);
    ASSERT_EQ(ask("POST", "/ufmRest/resources/pkeys", R"({"pkey": "0x5", "guids": ["21"]})").status,
              200);
    ASSERT_EQ(ask("PUT", "/app/unhealthy_ports",
                  R"({"ports": ["0000000000000030_2"], "ports_policy": "UNHEALTHY"})")
                  .status,
              200);
    const std::string partitions = std::exchange(controls_.text, "");  // The fabric was ended.
    controls_.last.clear();
    make_api(file);  // The server was restarted.
    EXPECT_TRUE(api_->restore().empty());
    EXPECT_EQ(controls_.text, partitions);
    EXPECT_EQ(controls_.last, "sw0:2 down");
    EXPECT_EQ(json("/ufmRest/app/unhealthy_ports").size(), 1U);
    ASSERT_EQ(ask("DELETE", "/ufmRest/resources/pkeys/0x5").status, 200);
    make_api(file);
    controls_.text.clear();
    EXPECT_TRUE(api_->restore().empty());
    EXPECT_EQ(controls_.text, "") << "what was removed does not come back";
    std::remove(file.c_str());
}

TEST_F(ApiTest, ModulesAreTheNodesThemselves) {
    const Json modules = json("/ufmRest/resources/modules");
    ASSERT_EQ(modules.size(), 3U);
    EXPECT_EQ(modules[2]["device_name"], "sw0");
    EXPECT_EQ(modules[2]["cabled_ib_ports"], 2);
    EXPECT_EQ(modules[2]["status"], "OK");
    const Json systems = json("/ufmRest/resources/systems");
    EXPECT_EQ(systems[2]["modules"][0], modules[2]["name"]);
}

TEST_F(ApiTest, GroupsAreTheTiersOfTheFabric) {
    const Json groups = json("/ufmRest/resources/groups");
    ASSERT_EQ(groups.size(), 2U);
    EXPECT_EQ(groups[0]["name"], "hosts");
    EXPECT_EQ(groups[0]["members"].size(), 2U);
    EXPECT_EQ(groups[1]["members"][0]["description"], "sw0");
}

TEST_F(ApiTest, AValidationTestNamesWhatFailed) {
    const auto run = [&](const char* test) {
        const Response made = ask("POST", std::string("/ufmRest/fabricValidation/tests/") + test);
        EXPECT_EQ(made.status, 202) << made.body;
        return made.body.substr(made.body.rfind('/') + 1, 1);
    };
    EXPECT_EQ(json("/ufmRest/jobs/" + run("CheckLinks"))["Status"], "Completed");
    states_[2] = PortState::kDown;
    step(1);
    const std::string id = run("CheckLinks");
    EXPECT_EQ(json("/ufmRest/jobs/" + id)["Status"], "Completed With Errors");
    const Json parts = json("/ufmRest/jobs", {{"parent_id", id}});
    ASSERT_EQ(parts.size(), 1U);
    EXPECT_NE(parts[0]["Summary"].get<std::string>().find("sw0:1"), std::string::npos);
    EXPECT_EQ(json("/ufmRest/jobs/" + run("CheckDuplicateGuids"))["Status"], "Completed");
    EXPECT_EQ(ask("POST", "/ufmRest/fabricValidation/tests/CheckNothing").status, 404);
}

TEST_F(ApiTest, ATopologyIsWrittenDownAndComparedWith) {
    const Json made =
        Json::parse(ask("POST", "/ufmRest/Topology_Compare/topology_file", "{}").body);
    const Response file = ask(
        "GET", "/ufmRest/Topology_Compare/topology_file/" + made["file_name"].get<std::string>());
    ASSERT_EQ(file.status, 200);
    EXPECT_EQ(ask("GET", "/ufmRest/Topology_Compare/networkdiff").status, 404);
    ASSERT_EQ(ask("POST", "/ufmRest/Topology_Compare/networkdiff", file.body).status, 200);
    Json same = json("/ufmRest/Topology_Compare/networkdiff");
    EXPECT_TRUE(same["added"]["nodes"].empty() && same["removed"]["links"].empty()) << same;

    auto smaller = std::make_shared<telemetry::Inventory>(*inventory_);  // h1 is gone.
    smaller->revision = 2;
    smaller->nodes.erase(smaller->nodes.begin() + 1);
    smaller->nodes[1].port_first = 1;
    smaller->nodes[1].port_count = 1;
    smaller->ports.erase(smaller->ports.begin() + 3);
    smaller->ports.erase(smaller->ports.begin() + 1);
    smaller->ports[0].peer = 1;
    smaller->ports[1].node = 1;
    inventory_ = smaller;
    states_.resize(2);
    waits_.resize(2);
    step(1);
    ASSERT_EQ(ask("POST", "/ufmRest/Topology_Compare/networkdiff", file.body).status, 200);
    const Json fewer = json("/ufmRest/Topology_Compare/networkdiff");
    EXPECT_EQ(fewer["removed"]["nodes"].size(), 1U) << fewer;
    EXPECT_EQ(ask("POST", "/ufmRest/Topology_Compare/networkdiff", "nonsense").status, 400);
}

TEST_F(ApiTest, ReportsAreJobsThatAreDone) {
    const Response made = ask("POST", "/ufmRest/reports/Fabric_Health", "{}");
    EXPECT_EQ(made.status, 202) << "clients wait for it";
    const std::string id = std::to_string(Json::parse(made.body)["report_id"].get<int>());
    EXPECT_TRUE(json("/ufmRest/reports/" + id)["checks"].is_array());
    EXPECT_EQ(json("/ufmRest/jobs/" + id)["Status"], "Completed");
    EXPECT_EQ(ask("GET", "/ufmRest/reports/999").status, 404);
}

TEST_F(ApiTest, ExternalEventsAreKeptAndDeleted) {
    EXPECT_EQ(ask("POST", "/app/events/external_event",
                  R"({"event_id": 552, "description": "port is bad"})")
                  .status,
              200);
    const Json events = json("/ufmRest/app/events");
    EXPECT_EQ(events.back()["description"], "port is bad");
    const std::string id = std::to_string(events.back()["id"].get<int>());
    EXPECT_EQ(ask("DELETE", "/ufmRest/app/events/" + id).status, 200);
    EXPECT_EQ(ask("DELETE", "/ufmRest/app/events/" + id).status, 404);
}

TEST_F(ApiTest, TheBusiestComeFirst) {
    step(1);
    const Json top = json("/ufmRest/monitoring/aggr_topx",
                          {{"object", "servers"}, {"attr", "bw"}, {"members", "1"}});
    ASSERT_EQ(top["data"]["port"]["TxBW"].size(), 1U);
    EXPECT_FLOAT_EQ(top["data"]["port"]["TxBW"][0]["value"].get<float>(), 4000);
    const Json switches = json("/ufmRest/monitoring/aggr_topx", {{"object", "switches"}});
    ASSERT_EQ(switches["data"]["device"]["TxBW"].size(), 1U);
    EXPECT_FLOAT_EQ(switches["data"]["device"]["TxBW"][0]["value"].get<float>(), 8000);
    EXPECT_TRUE(switches["data"]["device"]["RxBW"].empty()) << "who has nothing is not listed";
    EXPECT_EQ(ask("GET", "/ufmRest/monitoring/aggr_topx", "", {{"attr", "colour"}}).status, 400);
}

TEST_F(ApiTest, DevicesAreRankedByTheirAlarms) {
    states_[2] = PortState::kDown;
    step(1);
    const Json top =
        json("/ufmRest/monitoring/aggr_topx", {{"object", "switches"}, {"attr", "alarms"}});
    ASSERT_EQ(top["data"]["device"]["Alarms"].size(), 1U);
    EXPECT_EQ(top["data"]["device"]["Alarms"][0]["description"], "sw0");
}

TEST_F(ApiTest, CongestionIsSeenFromBothEndsOfACable) {
    waits_[3] = 12'500'000'000;  // All of the second, at sw0:2.
    step(1);
    const Json switches =
        json("/ufmRest/monitoring/aggr_topx", {{"object", "switches"}, {"attr", "cong"}});
    ASSERT_EQ(switches["data"]["port"]["TCBW"].size(), 1U);
    EXPECT_EQ(switches["data"]["port"]["TCBW"][0]["description"], "sw0:2");
    const Json servers =
        json("/ufmRest/monitoring/aggr_topx", {{"object", "servers"}, {"attr", "cong"}});
    ASSERT_EQ(servers["data"]["port"]["RCBW"].size(), 1U);
    EXPECT_EQ(servers["data"]["port"]["RCBW"][0]["description"], "h1/mlx5_0:1");
}

TEST(Json, DeepNestingIsRefused) {
    EXPECT_FALSE(parse_json(std::string(100, '[') + std::string(100, ']')));
    EXPECT_FALSE(parse_json("{"));
    EXPECT_TRUE(parse_json("[[1]]"));
}

}  // namespace
}  // namespace softib::server
