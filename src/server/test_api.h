// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// For tests: an Api on the fabric of telemetry/test_fabric.h, and controls that remember what they
// were asked for.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/api.h"
#include "server/json.h"
#include "telemetry/test_fabric.h"

namespace softib::server {

/// Controls that remember the last request.
class FakeControls final : public Controls {
  public:
    Done set_link(const std::string& node, std::uint8_t port, bool up) override {
        last = node + ":" + std::to_string(port) + (up ? " up" : " down");
        all += last + "\n";
        return {};
    }
    Done set_switch(const std::string& name, bool on) override {
        last = name + (on ? " on" : " off");
        all += last + "\n";
        return {};
    }
    std::string partitions() override { return text; }
    Done set_partitions(const std::string& wanted) override {
        text = wanted;
        return {};
    }
    Done resweep() override {
        all += "resweep\n";
        return {};
    }
    Done set_route(const std::string& name, Lid lid, std::optional<std::uint8_t> port) override {
        if (name != "sw0") {
            return std::unexpected("no switch");
        }
        all += "route " + std::to_string(lid.value) + " " +
               (port ? std::to_string(*port) : "none") + "\n";
        return {};
    }

    std::string all;  ///< All changes of cables, switches and routes.
    std::string last;
    std::string text;
};

class ApiTest : public testing::Test {
  protected:
    ApiTest() {
        auto source = std::make_unique<telemetry::TestSource>();
        source_ = source.get();
        collector_ =
            std::make_unique<telemetry::Collector>(std::move(source), telemetry::built_in_rules());
        make_api("");
        step(0);
    }
    void make_api(std::string state_file, std::string history = "") {
        api_ = std::make_unique<Api>(ApiConfig{.collector = collector_.get(),
                                               .controls = &controls_,
                                               .allow_control = true,
                                               .dir = "",
                                               .history = std::move(history),
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
    telemetry::TestSource* source_ = nullptr;
    std::unique_ptr<telemetry::Collector> collector_;
    FakeControls controls_;
    std::unique_ptr<Api> api_;
};

}  // namespace softib::server
