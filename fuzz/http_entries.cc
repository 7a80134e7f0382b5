// SPDX-License-Identifier: BSD-2-Clause
#include "http_entries.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "server/api.h"
#include "server/front.h"
#include "telemetry/test_fabric.h"

namespace softib::fuzz {

namespace {

constexpr std::string_view kToken = "2f0c9a6be1d84757";

/// A connection whose client has sent everything at once.
class SaidWire final : public server::Wire {
  public:
    explicit SaidWire(std::string said) : said_(std::move(said)) {}

    ssize_t read(char* bytes, std::size_t size, std::chrono::milliseconds) override {
        const std::size_t count = std::min(size, said_.size() - at_);
        std::memcpy(bytes, said_.data() + at_, count);
        at_ += count;
        return static_cast<ssize_t>(count);
    }
    ssize_t write(const char* bytes, std::size_t size, std::chrono::milliseconds) override {
        answered.append(bytes, size);
        return static_cast<ssize_t>(size);
    }
    bool wait_readable(std::chrono::milliseconds) override { return at_ != said_.size(); }

    std::string answered;

  private:
    std::string said_;
    std::size_t at_ = 0;
};

class CountingControls final : public server::Controls {
  public:
    Done set_link(const std::string&, std::uint8_t, bool) override { return count(); }
    Done set_switch(const std::string&, bool) override { return count(); }
    std::string partitions() override { return text; }
    Done set_partitions(const std::string& wanted) override {
        text = wanted;
        return count();
    }
    Done resweep() override { return count(); }

    std::uint64_t changes = 0;
    std::string text;

  private:
    Done count() {
        ++changes;
        return {};
    }
};

/// A server for a fabric of two hosts.
struct Served {
    Served()
        : collector(std::make_unique<telemetry::TestSource>(reading()),
                    telemetry::built_in_rules()),
          api({.collector = &collector,
               .controls = &controls,
               .allow_control = true,
               .dir = "",
               .history = "",
               .state_file = "",
               .token = std::string(kToken),
               .version = "1",
               .metrics = {.by_node = true, .by_cable = true}}),
          front({}, server::Guard({std::string(kToken), true, true, {}}), streams,
                [this](const server::Request& request) { return api.handle(request); }) {
        collector.step();
    }
    static telemetry::Reading reading() {
        const auto inventory =
            std::make_shared<const telemetry::Inventory>(telemetry::test_inventory());
        return {inventory, telemetry::test_snapshot(1, 1, inventory).sample, {}};
    }

    telemetry::Collector collector;
    CountingControls controls;
    server::Api api;
    server::Streams streams{0};  // None may open: a stream would never end.
    server::Front front;
};

std::string without_line_ends(std::string_view text) {
    std::string out(text);
    std::erase_if(out, [](char c) { return c == '\r' || c == '\n' || c == ' ' || c == '\0'; });
    return out;
}

std::string connection_of(std::uint8_t how, std::string_view rest) {
    switch (how % 3) {
        case 0:
            return std::string(rest);
        case 1:
            return "GET /" + without_line_ends(rest) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
        default:
            break;
    }
    const std::size_t cut = std::min(rest.find('\n'), rest.size());
    const std::string_view body = rest.substr(std::min(cut + 1, rest.size()));
    const char* const methods[]{"POST", "PUT", "DELETE"};
    return std::string(methods[how / 3 % 3]) + " /" + without_line_ends(rest.substr(0, cut)) +
           " HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAuthorization: "
           "Bearer " +
           std::string(kToken) + "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" +
           std::string(body);
}

}  // namespace

bool http_holds(std::span<const std::uint8_t> input) {
    static Served served;
    if (input.empty()) {
        return true;
    }
    const std::uint8_t how = input[0];
    const std::string rest(input.begin() + 1, input.end());
    const std::uint64_t before = served.controls.changes;
    SaidWire wire(connection_of(how, rest));
    served.front.serve(wire);
    const bool has_token = how % 3 == 2 || rest.find(kToken) != std::string::npos;
    return (wire.answered.empty() || wire.answered.starts_with("HTTP/1.1 ")) &&
           (has_token || served.controls.changes == before);
}

}  // namespace softib::fuzz
