// SPDX-License-Identifier: BSD-2-Clause
#include "plan/serve/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "core/topo/spec.h"
#include "plan/collective/cluster_network.h"
#include "plan/collective/stage.h"
#include "plan/distribution.h"
#include "plan/serve/kv.h"
#include "plan/units.h"

namespace softib::plan {

namespace {

constexpr double kWarm = 0.1;  ///< Part of the requests that come before the service is steady.
constexpr std::uint32_t kParts = 8;  ///< Parts in which a KV cache streams, of some layers each.
constexpr double kTail = 0.99;       ///< Where the slowest begin.
constexpr double kFull = 0.97;       ///< A pool with more work than this part has no steady state.

/// Returns the instances of a pool on `nodes` nodes from `first` on, each with its share of the
/// first `rails` NICs of its node.
std::vector<Instance> instances_of(const Cluster& cluster, std::uint32_t first, std::uint32_t nodes,
                                   std::uint32_t tp, std::uint32_t rails) {
    const std::uint32_t of_node = cluster.gpus_per_node / tp;
    std::vector<Instance> all;
    for (std::uint32_t node = first; node < first + nodes; ++node) {
        for (std::uint32_t i = 0; i < of_node; ++i) {
            Instance& instance = all.emplace_back();
            const std::uint32_t nic = i * rails / of_node;
            const std::uint32_t end = std::max((i + 1) * rails / of_node, nic + 1);
            for (std::uint32_t rail = nic; rail < end; ++rail) {
                instance.ends.push_back(node * cluster.nics_per_node() + rail);
            }
        }
    }
    return all;
}

/// Returns means over draws of prompts and answers, for what a pool must do.
struct Demand {
    double prompt = 0;
    double answer = 0;
    double prefill_s = 0;
    double bytes = 0;
};
Demand demand_of(const ServeRequest& request, const ServeTimes& times, double kv_bytes) {
    constexpr int kDraws = 400;
    Prng random(request.seed ^ 0x5e7e);
    Demand demand;
    for (int i = 0; i < kDraws; ++i) {
        const double prompt = request.prompt.draw(random);
        const double known = std::floor(request.reuse * prompt);
        demand.prompt += prompt / kDraws;
        demand.answer += request.answer.draw(random) / static_cast<double>(kDraws);
        demand.prefill_s += times.prefill(prompt - known, known) / kDraws;
        demand.bytes += (prompt - std::floor(request.decode_reuse * prompt)) * kv_bytes / kDraws;
    }
    return demand;
}

std::string requests_text(double rate) {
    return fmt::format("{:.3g} requests a second", rate);
}

/// Returns why the pools cannot keep up; empty if they can.
std::string find_overload(const ServeRequest& request, const Demand& demand,
                          const ServeTimes& decode) {
    const Cluster& cluster = request.cluster;
    const double prefills = request.prefill_nodes * cluster.gpus_per_node / request.prefill.tp;
    const double most = prefills / demand.prefill_s;
    if (request.requests_per_s > kFull * most) {
        return fmt::format(
            "{} prefill nodes compute at most {} of these prompts ({} each), so requests would "
            "wait ever longer: take a rate of at most {:.3g}, or {} prefill nodes",
            request.prefill_nodes, requests_text(most),
            show_time(static_cast<TimePs>(demand.prefill_s * 1e12)), 0.95 * most,
            std::ceil(request.prefill_nodes * request.requests_per_s / (0.9 * most)));
    }
    const double context = demand.prompt + demand.answer / 2;
    const double room =
        std::clamp(std::floor(decode.kv_tokens_most() / (demand.prompt + demand.answer)), 1.0,
                   static_cast<double>(request.batch_most));
    const double decodes = request.decode_nodes * cluster.gpus_per_node / request.decode.tp;
    const double rate =
        decodes * room /
        (demand.answer * decode.step(static_cast<std::uint32_t>(room), room * context));
    if (request.requests_per_s > kFull * rate) {
        return fmt::format(
            "{} decode nodes compute at most {} of these answers, in batches of {:.0f}, so "
            "requests would wait ever longer: take a rate of at most {:.3g}, or {} decode nodes{}",
            request.decode_nodes, requests_text(rate), room, 0.95 * rate,
            std::ceil(request.decode_nodes * request.requests_per_s / (0.9 * rate)),
            room < request.batch_most ? "" : ", or a larger --batch");
    }
    return "";
}

/// What several runs of one row have shown.
struct Runs {
    std::array<std::vector<double>, kServePercents.size()> first_token = {};
    std::array<std::vector<double>, kServePercents.size()> token = {};
    std::array<std::vector<double>, kServePercents.size()> transfer = {};
    std::vector<double> share = {};
    std::vector<double> share_tail = {};
};

void add_parts(FirstTokenParts& sum, const Served& each, double weight) {
    sum.waited += weight * each.waited;
    sum.prefill += weight * each.prefill;
    sum.room += weight * each.room;
    sum.alone += weight * each.alone;
    sum.crowded_in += weight * each.crowded_in;
    sum.crowded_out += weight * each.crowded_out;
    sum.crowded_within += weight * each.crowded_within;
    sum.joining += weight * each.joining;
}

/// Adds the figures of one run.
void add_run(const ServeRun& run, std::uint32_t seeds, ServeRow& row, Runs& runs) {
    std::vector<const Served*> steady;
    const auto first = static_cast<std::size_t>(kWarm * static_cast<double>(run.requests.size()));
    for (std::size_t i = first; i < run.requests.size(); ++i) {
        steady.push_back(&run.requests[i]);
    }
    std::ranges::sort(steady, {}, [](const Served* each) { return each->first_token(); });
    std::vector<double> firsts;
    std::vector<double> tokens;
    std::vector<double> transfers;
    FirstTokenParts mean;
    FirstTokenParts tail;
    const auto count = static_cast<double>(steady.size());
    const std::size_t slow = std::min(static_cast<std::size_t>(kTail * count), steady.size() - 1);
    for (std::size_t i = 0; i < steady.size(); ++i) {
        const Served& each = *steady[i];
        firsts.push_back(each.first_token());
        transfers.push_back(each.transfer());
        if (each.answer > 1) {
            tokens.push_back(each.token);
        }
        add_parts(mean, each, 1 / count);
        if (i >= slow) {
            add_parts(tail, each, 1 / static_cast<double>(steady.size() - slow));
        }
        row.senders_most = std::max(row.senders_most, each.most_senders);
        row.senders.resize(std::max<std::size_t>(row.senders.size(), each.most_senders));
        row.senders[each.most_senders - 1] += 1 / count / seeds;
        add_parts(row.parts, each, 1 / count / seeds);
        if (i >= slow) {
            add_parts(row.tail, each, 1 / static_cast<double>(steady.size() - slow) / seeds);
        }
    }
    row.first_tokens.insert(row.first_tokens.end(), firsts.begin(), firsts.end());
    const Distribution first_token(std::move(firsts));
    const Distribution token(std::move(tokens));
    const Distribution transfer(std::move(transfers));
    for (std::size_t i = 0; i < kServePercents.size(); ++i) {
        runs.first_token[i].push_back(first_token.percentile(kServePercents[i]));
        runs.token[i].push_back(token.empty() ? 0 : token.percentile(kServePercents[i]));
        runs.transfer[i].push_back(transfer.percentile(kServePercents[i]));
    }
    runs.share.push_back(mean.fabric() / mean.sum());
    runs.share_tail.push_back(tail.fabric() / tail.sum());
}

/// Returns the load of the fabric during a run.
FabricLoad load_of(const topo::Fabric& fabric, const net::Model& network, double seconds) {
    std::vector<PortUse> ports;
    for (const net::LinkLoad& link : network.links()) {
        ports.push_back(
            {link.at.node, link.at.port, static_cast<double>(link.bytes), link.gbps * 1e9 / 8});
    }
    return fabric_load(fabric, ports, seconds);
}

/// Plays one row: a number of rails.
class Row {
  public:
    Row(const ServeRequest& request, const ServeTimes& prefill, const ServeTimes& decode,
        double kv_bytes)
        : request_(request), prefill_(prefill), decode_(decode), kv_bytes_(kv_bytes) {}

    std::expected<ServeRow, std::string> play(std::uint32_t rails, ServeAnswer& answer) const;

  private:
    ServeSetup setup_of(std::uint32_t rails) const;
    std::expected<double, std::string> seconds_alone(const ServeSetup& setup, Stage& stage,
                                                     std::uint32_t from, std::uint32_t to,
                                                     double bytes) const;

    const ServeRequest& request_;
    const ServeTimes& prefill_;
    const ServeTimes& decode_;
    double kv_bytes_;
};

ServeSetup Row::setup_of(std::uint32_t rails) const {
    const Cluster& cluster = request_.cluster;
    return {.prefill = instances_of(cluster, 0, request_.prefill_nodes, request_.prefill.tp, rails),
            .decode = instances_of(cluster, request_.prefill_nodes, request_.decode_nodes,
                                   request_.decode.tp, rails),
            .requests_per_s = request_.requests_per_s,
            .prompt = request_.prompt,
            .answer = request_.answer,
            .reuse = request_.reuse,
            .decode_reuse = request_.decode_reuse,
            .requests = request_.requests,
            .batch_most = request_.batch_most,
            .kv_tokens_most = decode_.kv_tokens_most(),
            .kv_bytes = kv_bytes_,
            .parts = request_.stream ? kParts : 1,
            .speed_factor = cluster.fabric.speed_factor(),
            .prefill_s = [this](double tokens,
                                double known) { return prefill_.prefill(tokens, known); },
            .step_s = [this](std::uint32_t batch,
                             double context) { return decode_.step(batch, context); }};
}

/// Returns the time of a transfer with nothing else on the network.
std::expected<double, std::string> Row::seconds_alone(const ServeSetup& setup, Stage& stage,
                                                      std::uint32_t from, std::uint32_t to,
                                                      double bytes) const {
    const std::vector<std::uint32_t>& out = setup.prefill[from].ends;
    const std::vector<std::uint32_t>& in = setup.decode[to].ends;
    const std::size_t parts = std::max(out.size(), in.size());
    Flows flows;
    for (std::size_t part = 0; part < parts; ++part) {
        flows.push_back({out[part % out.size()], in[part % in.size()],
                         static_cast<std::uint64_t>(std::ceil(bytes / static_cast<double>(parts))),
                         0});
    }
    const auto played = stage.play(flows);
    return played ? std::expected<double, std::string>((played->us + played->latency_us) * 1e-6)
                  : std::unexpected(played.error());
}

std::expected<ServeRow, std::string> Row::play(std::uint32_t rails, ServeAnswer& answer) const {
    ServeRow row{.rails = rails};
    Runs runs;
    ServeSetup setup = setup_of(rails);
    const auto fabric = topo::generate(request_.cluster.fabric.spec);
    auto stage = make_stage(request_.cluster, {.model = net::ModelKind::kFlow});
    if (!stage || !fabric) {
        return std::unexpected(stage ? fabric.error().message : stage.error());
    }
    // Times are proportional to bytes but for the latency, so two of each pair tell all.
    constexpr double kShort = 1 << 20;
    constexpr double kLong = 1 << 30;
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<double, double>> known;
    std::string fault;
    const auto alone = [&](std::uint32_t from, std::uint32_t to, double bytes) {
        const auto [found, added] = known.try_emplace({from, to});
        if (added) {
            const auto quick = seconds_alone(setup, **stage, from, to, kShort);
            const auto slow = seconds_alone(setup, **stage, from, to, kLong);
            if (quick && slow) {
                const double each = (*slow - *quick) / (kLong - kShort);
                found->second = {each, std::max(0.0, *quick - each * kShort)};
            }
        }
        return found->second.first * bytes + found->second.second;
    };
    for (std::uint32_t i = 0; i < request_.seeds; ++i) {
        auto network = make_network(request_.cluster, request_.network, {});
        if (!network) {
            return std::unexpected(network.error());
        }
        setup.seed = request_.seed + i;
        const auto run = serve(setup, **network, alone);
        if (!run) {
            return std::unexpected(run.error());
        }
        add_run(*run, request_.seeds, row, runs);
        row.load = load_of(*fabric, **network, run->seconds);
        const double nics = static_cast<double>(rails) * request_.decode_nodes;
        row.nic_load += run->sent_bytes / (nics * request_.cluster.nic_bytes_per_s()) /
                        run->seconds / request_.seeds;
        answer.prefill_busy = run->prefill_busy;
        answer.decode_batch = run->decode_batch;
        answer.sent_bytes = (i == 0 ? 0 : answer.sent_bytes) + run->sent_bytes;
    }
    for (std::size_t i = 0; i < kServePercents.size(); ++i) {
        row.first_token[i] = spread_of(runs.first_token[i]);
        row.token[i] = spread_of(runs.token[i]);
        row.transfer[i] = spread_of(runs.transfer[i]);
    }
    row.fabric_share = spread_of(runs.share);
    row.fabric_share_tail = spread_of(runs.share_tail);
    std::ranges::sort(row.first_tokens);
    return row;
}

std::vector<std::string> notes_of(const ServeRequest& request) {
    const char* const network = request.network == net::ModelKind::kFlow ? "flow" : "packet";
    return {
        std::string("time to the first token: from a request's arrival until a decode instance has "
                    "computed its first token; ") +
            (request.stream
                 ? fmt::format("a KV cache travels in {} parts while its prompt is computed, which "
                               "begins when a decode instance has room",
                               kParts)
                 : "a transfer begins when the prefill has ended and a decode instance has room"),
        "prefill and decode by the kernels and rates of training steps (forward pass, weights and "
        "KV caches read once for a token, tensor parallelism by NCCL's latencies, which kernels of "
        "engines undercut); no published measurement of serving validates them",
        "an instance of the prefill pool computes one prompt at a time, in the order of arrival; a "
        "decode instance batches all that have come, with room kept for whole answers",
        fmt::format("model {}: KV caches travel as RDMA WRITEs, the same part by each NIC of an "
                    "instance; nothing else is on the network",
                    network),
        "queueing of a transfer is at the end where more transfers meet, the rest between "
        "switches; the first tenth of the requests is left out of all figures",
        fmt::format("low and high: the least and the most of {} with seeds from {} on",
                    counted(request.seeds, "run"), request.seed)};
}

/// Returns why a model of packets would take too long; empty if it would not.
std::string find_too_many(const ServeRequest& request, double bytes, std::uint32_t rows) {
    constexpr double kPacketsMost = 1e8;
    const double packets =
        bytes / request.cluster.fabric.mtu * request.requests * request.seeds * rows;
    return request.network == net::ModelKind::kPacket && packets > kPacketsMost
               ? fmt::format(
                     "the KV caches are {:.2g} packets, and {:.0g} take many minutes: take "
                     "--network flow, fewer --requests or --seeds, or one number of --rails",
                     packets, kPacketsMost)
               : "";
}

std::string find_fault_of(const ServeRequest& request) {
    const Cluster& cluster = request.cluster;
    const std::uint32_t nodes = request.prefill_nodes + request.decode_nodes;
    if (nodes > cluster.nodes()) {
        return fmt::format("{} prefill and {} decode nodes are more than the {} nodes of {}",
                           request.prefill_nodes, request.decode_nodes, cluster.nodes(),
                           cluster.name);
    }
    if (cluster.domain_nodes() > 1) {
        return fmt::format(
            "the nodes of {} share NVLink domains, by which KV caches would travel: serving is "
            "known for nodes that only the fabric joins, as hgx-h200",
            cluster.name);
    }
    if (request.rails > cluster.nics_per_node()) {
        return fmt::format("a node of {} has {} NICs, not {}: take --rails {} or fewer",
                           cluster.name, cluster.nics_per_node(), request.rails,
                           cluster.nics_per_node());
    }
    return "";
}

}  // namespace

Spread spread_of(std::vector<double> values) {
    std::ranges::sort(values);
    return values.empty() ? Spread{}
                          : Spread{values[values.size() / 2], values.front(), values.back()};
}

std::expected<ServeAnswer, std::string> plan_service(const ServeRequest& request) {
    if (std::string fault = find_fault_of(request); !fault.empty()) {
        return std::unexpected(std::move(fault));
    }
    const auto prefill = ServeTimes::make(request.model, request.cluster, request.prefill);
    const auto decode = ServeTimes::make(request.model, request.cluster, request.decode);
    if (!prefill || !decode) {
        return std::unexpected(prefill ? "decode pool: " + decode.error()
                                       : "prefill pool: " + prefill.error());
    }
    ServeAnswer answer{.request = request};
    answer.kv_bytes = kv_bytes_per_token(request.model, request.decode.kv_bytes_of_number);
    answer.kv_tokens_most = (*decode)->kv_tokens_most();
    const Demand demand = demand_of(request, **prefill, answer.kv_bytes);
    answer.prompt_kv_bytes = demand.bytes;
    if (std::string overload = find_overload(request, demand, **decode); !overload.empty()) {
        return std::unexpected(std::move(overload));
    }
    const std::uint32_t all = request.cluster.nics_per_node();
    const auto rows = request.rails != 0 ? 1U : static_cast<std::uint32_t>(std::bit_width(all));
    if (std::string many = find_too_many(request, demand.bytes, rows); !many.empty()) {
        return std::unexpected(std::move(many));
    }
    const Row played(request, **prefill, **decode, answer.kv_bytes);
    const std::uint32_t first = request.rails != 0 ? request.rails : 1;
    const std::uint32_t last = request.rails != 0 ? request.rails : all;
    for (std::uint32_t rails = first; rails <= last;
         rails = rails < last ? std::min(2 * rails, last) : last + 1) {
        if (request.progress) {
            request.progress(rails - 1, last, fmt::format("{}", counted(rails, "rail")));
        }
        const double nodes = std::min(request.prefill_nodes, request.decode_nodes);
        const double most =
            nodes * rails * request.cluster.nic_bytes_per_s() / std::max(demand.bytes, 1.0);
        if (request.requests_per_s > kFull * most) {
            answer.rows.push_back({.rails = rails,
                                   .why = fmt::format("the NICs carry the KV caches of at most {}",
                                                      requests_text(most))});
            continue;
        }
        auto row = played.play(rails, answer);
        if (!row) {
            return std::unexpected(row.error());
        }
        answer.rows.push_back(*std::move(row));
    }
    answer.notes = notes_of(request);
    return answer;
}

}  // namespace softib::plan
