// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/cli/json_text.h"
#include "app/cli/sim/report.h"

namespace softib::app::sim {

namespace {

using Json = nlohmann::ordered_json;

Json to_json(const plan::Distribution& of) {
    if (of.empty()) {
        return nullptr;
    }
    return {{"min", of.min()},
            {"p1", of.percentile(1)},
            {"p10", of.percentile(10)},
            {"p50", of.percentile(50)},
            {"p90", of.percentile(90)},
            {"p99", of.percentile(99)},
            {"p999", of.percentile(99.9)},
            {"max", of.max()},
            {"mean", of.mean()}};
}

Json to_json(const plan::TrafficResult& traffic) {
    constexpr std::uint32_t kBins = 20;
    Json bins = Json::array();
    for (const plan::Distribution::Bin& bin : traffic.completion_us.histogram(kBins)) {
        bins.push_back({{"from_us", bin.from}, {"to_us", bin.to}, {"messages", bin.count}});
    }
    return {{"pattern", traffic.pattern},
            {"senders", traffic.senders},
            {"message_bytes", traffic.message_bytes},
            {"messages", traffic.messages},
            {"delivered", traffic.delivered},
            {"failed", traffic.failed},
            {"unfinished", traffic.unfinished},
            {"bytes", traffic.bytes},
            {"started_ps", traffic.started_at == plan::kNever ? 0 : traffic.started_at},
            {"finished_ps", traffic.finished_at},
            {"gbps", traffic.gbps},
            {"completion_us", to_json(traffic.completion_us)},
            {"message_gbps", to_json(traffic.message_gbps)},
            {"histogram", std::move(bins)}};
}

Json to_json(const Report& report, const plan::LinkResult& link) {
    const bool flows_known = !report.adaptive || link.host;
    const auto of_packets = [&](auto value) {
        return report.has_packets() ? Json(value) : Json(nullptr);
    };
    return {{"link", link.name},
            {"to", link.peer},
            {"use", link.use},
            {"full", link.full},
            {"xmit_wait", of_packets(link.wait)},
            {"xmit_wait_ps", of_packets(link.load.wait_ps)},
            {"flows", flows_known ? Json(link.flows) : Json(nullptr)},
            {"bytes", link.load.bytes},
            {"packets", of_packets(link.load.packets)},
            {"gbps", link.gbps},
            {"link_gbps", link.load.gbps}};
}

Json to_json(const plan::CongestionTree& tree, const plan::Results& results) {
    Json behind = Json::array();
    for (const std::uint32_t link : tree.behind) {
        behind.push_back(results.links[link].name);
    }
    return {{"root", results.links[tree.root].name},
            {"flows", tree.flows},
            {"victims", tree.victims},
            {"without_credits", std::move(behind)},
            {"text", tree.text}};
}

Json to_json(const net::ModelStats& stats) {
    return {{"hops", stats.hops},
            {"delivered", stats.delivered},
            {"discarded", stats.discarded},
            {"lost", stats.lost},
            {"resent", stats.resent},
            {"marked", stats.marked},
            {"notifications", stats.notifications},
            {"pauses", stats.pauses},
            {"timeouts", stats.timeouts},
            {"routed", stats.routed},
            {"context_misses", stats.context_misses}};
}

}  // namespace

std::string to_json(const Report& report) {
    const plan::Results& results = report.results;
    Json traffics = Json::array();
    for (const plan::TrafficResult& each : results.traffics) {
        traffics.push_back(to_json(each));
    }
    Json links = Json::array();
    for (const std::uint32_t i : results.busiest) {
        links.push_back(to_json(report, results.links[i]));
    }
    Json trees = Json::array();
    for (const plan::CongestionTree& tree : results.trees) {
        trees.push_back(to_json(tree, results));
    }
    const net::ModelStats& stats = results.stats;
    return json_text({{"model", report.has_packets() ? "packet" : "flow"},
                      {"fabric",
                       {{"title", report.title},
                        {"hosts", report.hosts},
                        {"switches", report.switches},
                        {"link_layer", report.roce ? "ethernet" : "infiniband"},
                        {"engine", report.engine},
                        {"data_vls", report.data_vls},
                        {"adaptive", report.adaptive},
                        {"congestion_control", report.congestion_control},
                        {"qos", report.qos}}},
                      {"seed", report.seed},
                      {"stopped", report.stopped},
                      {"duration_ps", results.duration},
                      {"traffic", std::move(traffics)},
                      {"busiest_links", std::move(links)},
                      {"congestion", std::move(trees)},
                      {"notes", report.notes},
                      {"packets", report.has_packets() ? to_json(stats) : Json(nullptr)},
                      {"events", stats.events},
                      {"cpu_seconds", report.cpu_seconds},
                      {"log_hash", fmt::format("{:016x}", stats.log_hash)}});
}

}  // namespace softib::app::sim
