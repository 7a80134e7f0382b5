// SPDX-License-Identifier: BSD-2-Clause
#include "server/api.h"

#include <gtest/gtest.h>

#include "server/delta.h"
#include "server/test_api.h"

namespace softib::server {
namespace {

TEST_F(ApiTest, ASnapshotHasAllPortsInColumns) {
    step(1);
    const Json snapshot = json("/api/v1/snapshot");
    EXPECT_EQ(snapshot["nodes"]["name"][2], "sw0");
    EXPECT_EQ(snapshot["ports"]["peer"], (Json{2, 3, 0, 1}));
    EXPECT_EQ(snapshot["ports"]["state"], (Json{4, 4, 4, 4}));
}

TEST_F(ApiTest, TheLoadOfAPortIsWhatItSends) {
    telemetry::Snapshot snapshot = telemetry::test_snapshot(1, 1, inventory_);
    snapshot.sample.counts[0].xmit_words = 5'000'000'000;  // 160 Gb of 400 in a second.
    snapshot.sample.counts[2].rcv_words = 5'000'000'000;
    source_->next = telemetry::Reading{inventory_, snapshot.sample, {}};
    collector_->step();
    EXPECT_EQ(json("/api/v1/snapshot")["ports"]["load"], (Json{400, 0, 0, 0}));
    const Json rates = json("/api/v1/ports/sw0:1")["rates"];
    EXPECT_FLOAT_EQ(rates["load"].get<float>(), 0.4F);
    EXPECT_EQ(rates["sent_load"], 0);
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
    const std::map<std::string, std::map<std::string, std::string>> asked{
        {"path", {{"from", "h0"}, {"to", "h1"}}},
        {"trees", {}},
        {"jobs", {}},
        {"pkeys", {}},
        {"routes/sw0", {}},
        {"whatif", {{"down", "sw0"}}}};
    for (const auto& [what, query] : asked) {
        const Response answer = ask("GET", "/api/v1/" + what, "", query);
        EXPECT_EQ(answer.status, 404) << what;
        EXPECT_NE(answer.body.find("only a running fabric"), std::string::npos) << what;
    }
    EXPECT_EQ(ask("GET", "/api/v1/slots").status, 404) << "there is no history";
    EXPECT_EQ(ask("GET", "/api/v1/moment", "", {{"time", "x"}}).status, 400);
    EXPECT_EQ(ask("POST", "/api/v1/routes/sw0", "[]").status, 400);
    EXPECT_EQ(ask("POST", "/api/v1/routes/sw9", R"({"lid": 1, "port": 2})").status, 409);
    EXPECT_EQ(ask("POST", "/api/v1/routes/sw0", R"({"lid": 1, "port": "2"})").status, 400);
}

TEST_F(ApiTest, ControlsAreNamedByPorts) {
    EXPECT_EQ(ask("POST", "/api/v1/links/sw0:2", R"({"up": false})").status, 200);
    EXPECT_EQ(controls_.last, "sw0:2 down");
    EXPECT_EQ(ask("POST", "/api/v1/links/sw0:2", "[]").status, 400);
    EXPECT_EQ(ask("POST", "/api/v1/links/sw0:9", R"({"up": false})").status, 404);
    EXPECT_EQ(ask("POST", "/api/v1/switches/sw0", R"({"on": true})").status, 200);
    EXPECT_EQ(controls_.last, "sw0 on");
}

TEST(Json, DeepNestingIsRefused) {
    EXPECT_FALSE(parse_json(std::string(100, '[') + std::string(100, ']')));
    EXPECT_FALSE(parse_json("{"));
    EXPECT_TRUE(parse_json("[[1]]"));
}

}  // namespace
}  // namespace softib::server
