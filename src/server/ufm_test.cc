// SPDX-License-Identifier: BSD-2-Clause
#include "server/ufm.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <utility>

#include "server/test_api.h"

namespace softib::server {
namespace {

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

TEST_F(ApiTest, TheQosOfAPartitionIsInItsDefinitionAndLeavesItsMembers) {
    const auto put = [&](const std::string& body) {
        return ask("PUT", "/ufmRest/resources/pkeys/qos_conf", body).status;
    };
    ASSERT_EQ(ask("POST", "/ufmRest/resources/pkeys",
                  R"({"pkey": "0x5", "guids": ["21"], "partition_name": "blue"})")
                  .status,
              200);
    EXPECT_EQ(put(R"({"pkey": "0x5", "mtu_limit": 4})"), 409) << "it has no IPoIB group";
    ASSERT_EQ(
        ask("POST", "/ufmRest/resources/pkeys", R"({"pkey": "0x5", "ip_over_ib": true})").status,
        200);
    EXPECT_EQ(put(R"({"pkey": "0x5", "mtu_limit": 4, "rate_limit": 2.5, "service_level": 3})"),
              200);
    EXPECT_NE(
        controls_.text.find("blue=0x0005, ipoib, mtu=5, rate=2, sl=3 : 0x0000000000000021=full"),
        std::string::npos)
        << controls_.text;
    const Json one =
        json("/ufmRest/resources/pkeys/0x5", {{"guids_data", "true"}, {"qos_conf", "true"}});
    EXPECT_EQ(one["partition"], "blue");
    EXPECT_EQ(to_text(one["qos_conf"]), R"({"mtu_limit":4,"service_level":3,"rate_limit":2.5})");
    EXPECT_EQ(one["guids"].size(), 1U);
    EXPECT_EQ(put(R"({"pkey": "0x5", "mtu_limit": 3})"), 400);
    EXPECT_EQ(put(R"({"pkey": "0x5", "rate_limit": 17})"), 400);
    EXPECT_EQ(put(R"({"pkey": "0x5", "service_level": 16})"), 400);
    EXPECT_EQ(put(R"({"pkey": "0x5"})"), 400);
    EXPECT_EQ(put(R"({"pkey": "0x9", "mtu_limit": 4})"), 404);
}

TEST_F(ApiTest, APartitionOfTheOperatorsFileKeepsItsTraits) {
    controls_.text = "Default=0x7fff, ipoib : ALL=full ;\nblue=0x10, ipoib : 0x11=full ;\n";
    for (const char* const more :
         {R"("partition_name": "red")", R"("mtu_limit": 4)", R"("ip_over_ib": false)"}) {
        EXPECT_EQ(ask("POST", "/ufmRest/resources/pkeys",
                      std::string(R"({"pkey": "0x10", "guids": ["21"], )") + more + "}")
                      .status,
                  409)
            << more;
    }
    EXPECT_EQ(ask("POST", "/ufmRest/resources/pkeys",
                  R"({"pkey": "0x10", "guids": ["21"], "ip_over_ib": true, "index0": false})")
                  .status,
              200);
}

TEST_F(ApiTest, APartitionLosesItsIpoibGroupWhenAClientSaysSo) {
    const auto post = [&](const char* ipoib) {
        return ask("POST", "/ufmRest/resources/pkeys",
                   std::string(R"({"pkey": "0x5", "guids": ["21"], "ip_over_ib": )") + ipoib + "}")
            .status;
    };
    EXPECT_EQ(post("true"), 200);
    EXPECT_EQ(json("/ufmRest/resources/pkeys/0x5")["ip_over_ib"], true);
    EXPECT_EQ(post("false"), 200);
    EXPECT_EQ(json("/ufmRest/resources/pkeys/0x5")["ip_over_ib"], false);
}

TEST_F(ApiTest, AClientThatPagesUntilNothingComesEnds) {
    for (const char* const list : {"links", "ports", "systems", "modules"}) {
        std::size_t rows = 0;
        std::size_t pages = 0;
        for (std::string page = "1"; pages < 10; page = std::to_string(pages + 1)) {
            const Json answer = json(std::string("/ufmRest/resources/") + list,
                                     {{"page_number", page}, {"rpp", "1"}});
            if (answer["data"].empty()) {
                break;
            }
            ++pages;
            rows += answer["data"].size();
        }
        EXPECT_EQ(rows, json(std::string("/ufmRest/resources/") + list).size()) << list;
        EXPECT_LT(pages, 10U) << list;
    }
    EXPECT_EQ(json("/ufmRest/resources/ports", {{"page_number", "18446744073709551615"},
                                                {"rpp", "18446744073709551615"}})["data"]
                  .size(),
              0U);
    EXPECT_EQ(ask("GET", "/ufmRest/resources/links", "", {{"page_number", "0"}}).status, 400);
}

TEST_F(ApiTest, PortsOfComputersAreWithoutThoseOfSwitches) {
    const Json computers = json("/ufmRest/resources/ports", {{"sys_type", "Computer"}});
    ASSERT_EQ(computers.size(), 2U);
    EXPECT_EQ(computers[0]["system_name"], "h0");
    EXPECT_EQ(json("/ufmRest/resources/ports", {{"high_ber_only", "True"}}).size(), 0U);
    EXPECT_EQ(json("/ufmRest/resources/ports", {{"active", "True"}}).size(), 4U);
    EXPECT_EQ(json("/ufmRest/resources/ports/0000000000000030_2,0000000000000011_1").size(), 2U);
    EXPECT_EQ(ask("GET", "/ufmRest/resources/ports/0000000000000099_1").status, 404);
}

TEST_F(ApiTest, AnExternalEventKeepsItsSeverity) {
    for (const char* const field : {"severity", "external_event_severity"}) {
        EXPECT_EQ(ask("POST", "/app/events/external_event",
                      std::string(R"({"description": ")") + field + R"(", ")" + field +
                          R"(": "Critical", "external_event_name": ")" + field + "\"}")
                      .status,
                  200);
    }
    EXPECT_EQ(json("/ufmRest/app/events", {{"severity", "Critical"}}).size(), 2U);
    EXPECT_EQ(json("/ufmRest/app/events", {{"severity", "Minor"}}).size(), 0U);
    EXPECT_EQ(
        ask("POST", "/app/events/external_event", R"({"description": "x", "severity": "terrible"})")
            .status,
        400);
    const Json event = json("/ufmRest/app/events")[0];
    EXPECT_EQ(json("/ufmRest/app/events/" + to_text(event["id"])), event);
}

TEST_F(ApiTest, FieldsThatWouldChangeNothingBesideOthersAreRefused) {
    struct Wrong {
        const char* method;
        const char* path;
        const char* body;
        const char* says;
    };
    for (const Wrong& wrong : {
             Wrong{"PUT", "/app/unhealthy_ports", R"({"ports": [], "ports_policy": "UNHEALTHY"})",
                   "'ports' is empty"},
             Wrong{"POST", "/resources/pkeys",
                   R"({"pkey": "0x5", "guids": ["11"], "memberships": ["full"],
                       "membership": "limited"})",
                   "leave one of them out"},
             Wrong{"POST", "/app/events/external_event",
                   R"({"description": "x", "severity": "Critical",
                       "external_event_severity": "Info"})",
                   "leave one of them out"},
             Wrong{"POST", "/actions", R"({"action": "fabric_discovery", "description": "x"})",
                   "'description' is not for the action fabric_discovery"},
             Wrong{"POST", "/reports/Fabric_Health", R"({"ufm_alarms": "yes"})",
                   "ufm_alarms must be"},
         }) {
        const Response answer = ask(wrong.method, wrong.path, wrong.body);
        EXPECT_EQ(answer.status, 400) << wrong.body;
        EXPECT_NE(answer.body.find(wrong.says), std::string::npos) << answer.body;
    }
    EXPECT_EQ(controls_.all, "");
    EXPECT_EQ(ask("GET", "/monitoring/aggr_topx", "", {{"members", "0"}}).status, 400);
}

TEST_F(ApiTest, AClientThatHasSeenLaterEventsIsToldTheRevisionThatThereIs) {
    const auto revision = json("/api/v1/events")["revision"].get<std::uint64_t>();
    EXPECT_EQ(json("/api/v1/events", {{"since", "99999999"}})["revision"], revision);
}

TEST_F(ApiTest, PortsAreDisabledEnabledAndResetByActions) {
    const auto act = [&](const char* action, const char* more = "") {
        controls_.all.clear();
        return ask("POST", "/ufmRest/actions",
                   std::string(R"({"action": ")") + action +
                       R"(", "object_ids": ["0000000000000030_2"])" + more + "}")
            .status;
    };
    EXPECT_EQ(act("disable"), 202);
    EXPECT_EQ(controls_.all, "sw0:2 down\n");
    EXPECT_EQ(act("port_enable"), 202);
    EXPECT_EQ(controls_.all, "sw0:2 up\n");
    EXPECT_EQ(act("reset", R"(, "object_type": "Port", "identifier": "id")"), 202);
    EXPECT_EQ(controls_.all, "sw0:2 down\nsw0:2 up\n");
    EXPECT_EQ(act("reset", R"(, "object_type": "System")"), 400);
    EXPECT_EQ(act("reset", R"(, "params": {})"), 400);
    EXPECT_EQ(act("fabric_discovery"), 400) << "a sweep has no objects";
    EXPECT_EQ(controls_.all, "");
}

TEST_F(ApiTest, AReportHasTheSectionsThatWereAskedForAndNamesThoseThatItCannotMake) {
    const Response made = ask("POST", "/ufmRest/reports/Fabric_Health",
                              R"({"non_opt_links": true, "firmware": true, "eye_open": false})");
    ASSERT_EQ(made.status, 202);
    const Json report =
        json("/ufmRest/reports/" + std::to_string(Json::parse(made.body)["report_id"].get<int>()));
    ASSERT_EQ(report["checks"].size(), 2U);
    EXPECT_EQ(report["checks"][0]["name"], "links");
    EXPECT_TRUE(report["checks"][1]["ok"].is_null()) << report;
    EXPECT_EQ(report["ok"], true);
}

TEST_F(ApiTest, AnUnhealthyPortIsTakenOutAndComesBack) {
    const std::string name = "0000000000000030_2";
    const auto put = [&](const char* policy, const char* more = "") {
        return ask("PUT", "/app/unhealthy_ports",
                   R"({"ports": [")" + name + R"("], "ports_policy": ")" + policy + "\"" + more +
                       "}")
            .status;
    };
    EXPECT_EQ(put("UNHEALTHY", R"(, "action": "isolate")"), 200);
    EXPECT_EQ(controls_.last, "sw0:2 down");
    EXPECT_EQ(json("/ufmRest/app/unhealthy_ports")[0]["name"], name);
    EXPECT_EQ(put("HEALTHY", R"(, "action": "isolate")"), 400);
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

}  // namespace
}  // namespace softib::server
