// SPDX-License-Identifier: BSD-2-Clause
// The rankings of UFM's tree: devices and ports by bandwidth, congestion or alarms.
#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "server/ufm.h"

namespace softib::server {

namespace {

using telemetry::Inventory;
using telemetry::kNoIndex;
using telemetry::Node;
using telemetry::Snapshot;

constexpr std::uint64_t kTopMax = 1000;

struct Ranked {
    std::string name;
    std::string description;
    double value = 0;
};

/// Returns the `most` largest, the largest first. Those whose value is 0 are left out.
Json ranked(std::vector<Ranked> all, std::uint64_t most) {
    std::erase_if(all, [](const Ranked& one) { return one.value <= 0; });
    std::ranges::sort(all, [](const Ranked& a, const Ranked& b) {
        return a.value != b.value ? a.value > b.value : a.name < b.name;
    });
    all.resize(std::min<std::size_t>(all.size(), most));
    Json list = Json::array();
    for (const Ranked& one : all) {
        list.push_back(
            {{"name", one.name}, {"description", one.description}, {"value", one.value}});
    }
    return list;
}

/// A value by which ports are ranked: data that was sent or received, or the time that the sender
/// waited for credits.
struct Mode {
    const char* name;
    bool sums;  ///< Whether the value of a device is the sum of its ports', not the largest.
    double (*value)(const Snapshot& snapshot, std::uint32_t port);
};
double sent(const Snapshot& snapshot, std::uint32_t port) {
    return double{snapshot.rates[port].xmit_bytes};
}
double received(const Snapshot& snapshot, std::uint32_t port) {
    return double{snapshot.rates[port].rcv_bytes};
}
double waited(const Snapshot& snapshot, std::uint32_t port) {
    return double{snapshot.rates[port].wait_share};
}
/// Returns the part of the time that the port at the other end of the cable waited to send to this
/// port.
double kept_waiting(const Snapshot& snapshot, std::uint32_t port) {
    const std::uint32_t peer = snapshot.inventory->ports[port].peer;
    return peer < snapshot.rates.size() ? waited(snapshot, peer) : 0;
}
constexpr Mode kBandwidth[]{{"TxBW", true, sent}, {"RxBW", true, received}};
constexpr Mode kCongestion[]{{"TCBW", false, waited}, {"RCBW", false, kept_waiting}};

bool is_wanted(const Node& node, std::string_view object) {
    const bool is_switch = node.kind == topo::NodeKind::kSwitch;
    return (object != "servers" || !is_switch) && (object != "switches" || is_switch);
}

Json by_ports(const Snapshot& snapshot, std::string_view object, std::span<const Mode> modes,
              std::uint64_t most) {
    const Inventory& inventory = *snapshot.inventory;
    Json data{{"device", Json::object()}, {"port", Json::object()}};
    for (const Mode& mode : modes) {
        std::vector<Ranked> devices;
        std::vector<Ranked> ports;
        for (const Node& node : inventory.nodes) {
            if (!is_wanted(node, object)) {
                continue;
            }
            Ranked device{ufm_guid(node.guid), node.name};
            const std::size_t end =
                std::min<std::size_t>(node.port_first + node.port_count, snapshot.rates.size());
            for (std::uint32_t i = node.port_first; i < end; ++i) {
                const double value = mode.value(snapshot, i);
                device.value = mode.sums ? device.value + value : std::max(device.value, value);
                ports.push_back({ufm_port_name(inventory, i), inventory.port_name(i), value});
            }
            devices.push_back(std::move(device));
        }
        data["device"][mode.name] = ranked(std::move(devices), most);
        data["port"][mode.name] = ranked(std::move(ports), most);
    }
    return data;
}

Json by_alarms(const Inventory& inventory, const std::vector<telemetry::Event>& alarms,
               std::string_view object, std::uint64_t most) {
    std::vector<Ranked> devices;
    for (const Node& node : inventory.nodes) {
        if (is_wanted(node, object)) {
            const auto is_its = [&](const telemetry::Event& alarm) {
                return alarm.object == node.name || alarm.object.starts_with(node.name + ":") ||
                       alarm.peer.starts_with(node.name + ":");
            };
            devices.push_back({ufm_guid(node.guid), node.name,
                               static_cast<double>(std::ranges::count_if(alarms, is_its))});
        }
    }
    return {{"device", {{"Alarms", ranked(std::move(devices), most)}}}};
}

}  // namespace

Route Ufm::top_route() {
    using enum ValueKind;
    return get("/monitoring/aggr_topx", answer_by(this, &Ufm::top),
               "devices and ports with most bytes per second, longest waiting (part of the time), "
               "most alarms",
               {{"object", kText, "all if not given", false, {"servers", "switches"}},
                {"attr", kText, "", false, {"bw", "cong", "alarms"}},
                {"members", kNumber, "1 to 1000; 5 if not given"}});
}

Response Ufm::top(const Call& call) const {
    const std::string_view object = call.text("object");
    const std::string_view attr = call.has("attr") ? call.text("attr") : "bw";
    const auto most = number_of(call.text("members"), 5, kTopMax);
    if (!most || *most == 0) {
        return Response::error(400, "members is 1 to 1000");
    }
    const auto snapshot = config_.collector->snapshot();
    Json data = attr == "alarms"
                    ? by_alarms(*snapshot->inventory, config_.collector->alarms(), object, *most)
                    : by_ports(*snapshot, object,
                               attr == "bw" ? std::span<const Mode>(kBandwidth)
                                            : std::span<const Mode>(kCongestion),
                               *most);
    return Response::json(to_text({{"attr", attr}, {"object", object}, {"data", std::move(data)}}));
}

}  // namespace softib::server
