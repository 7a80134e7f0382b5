// SPDX-License-Identifier: BSD-2-Clause
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "answer/json_text.h"
#include "run/csv.h"
#include "run/report.h"
#include "spec/scenario/serves.h"

namespace softib::run {

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
            {"not_begun", traffic.not_begun},
            {"bytes", traffic.bytes},
            {"partial_bytes", traffic.partial_bytes},
            {"started_ps", traffic.started_at == plan::kNever ? 0 : traffic.started_at},
            {"finished_ps", traffic.finished_at},
            {"gbps", traffic.gbps},
            {"completion_us", to_json(traffic.completion_us)},
            {"message_gbps", to_json(traffic.message_gbps)},
            {"histogram", std::move(bins)}};
}

Json to_json(const Report& report, const plan::LinkResult& link) {
    const auto of_packets = [&](auto value) {
        return report.has_packets() ? Json(value) : Json(nullptr);
    };
    return {{"link", link.name},
            {"to", link.peer},
            {"use", link.use},
            {"full", link.full},
            {"xmit_wait", of_packets(link.wait)},
            {"xmit_wait_ps", of_packets(link.load.wait_ps)},
            {"flows", flows_known(report, link) ? Json(link.flows) : Json(nullptr)},
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
    return answer::json_text({{"kind", spec::to_string(spec::RunKind::kSingle)},
                              {"model", report.has_packets() ? "packet" : "flow"},
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
                              {"basis", report.basis},
                              {"packets", report.has_packets() ? to_json(stats) : Json(nullptr)},
                              {"events", stats.events},
                              {"cpu_seconds", report.cpu_seconds},
                              {"log_hash", fmt::format("{:016x}", stats.log_hash)}});
}

std::string to_csv(const Report& report) {
    std::string text =
        "traffic,from,to,bytes,started_ps,delivered_ps,ended_ps,failed,gbps,arrived_bytes\n";
    const auto time = [](plan::TimePs at) {
        return at == plan::kNever ? std::string() : std::to_string(at);
    };
    // Sorted by sender: if several threads ran the simulation, messages come in another order.
    std::vector<plan::MessageRecord> messages = report.messages;
    std::ranges::stable_sort(messages, {}, [](const plan::MessageRecord& message) {
        return std::pair(message.traffic, message.sender);
    });
    for (const plan::MessageRecord& message : messages) {
        // What had come counts, if a message was under way at the end of the run.
        const plan::TimePs until =
            message.delivered_at != plan::kNever ? message.delivered_at : report.results.duration;
        const bool timed = !message.failed && until > message.started_at;
        const double gbps = timed ? static_cast<double>(message.arrived()) * 8000 /
                                        static_cast<double>(until - message.started_at)
                                  : 0;
        text += fmt::format(
            "{},{},{},{},{},{},{},{},{},{}\n", report.results.traffics[message.traffic].pattern,
            csv_cell(report.ends[message.from]), csv_cell(report.ends[message.to]), message.bytes,
            message.started_at, time(message.delivered_at), time(message.ended_at),
            message.failed ? 1 : 0, timed ? fmt::format("{:.3f}", gbps) : "", message.arrived());
    }
    return text;
}

std::string links_csv(const Report& report) {
    std::string text = "link,to,bytes,packets,use,full,xmit_wait_ps,flows,gbps,link_gbps\n";
    const auto of_packets = [&](std::uint64_t value) {
        return report.has_packets() ? std::to_string(value) : std::string();
    };
    for (const plan::LinkResult& link : report.results.links) {
        text += fmt::format("{},{},{},{},{:.4f},{:.4f},{},{},{:.3f},{:.1f}\n", csv_cell(link.name),
                            csv_cell(link.peer), link.load.bytes, of_packets(link.load.packets),
                            link.use, link.full, of_packets(link.load.wait_ps),
                            flows_known(report, link) ? std::to_string(link.flows) : "", link.gbps,
                            link.load.gbps);
    }
    return text;
}

}  // namespace softib::run
