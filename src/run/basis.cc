// SPDX-License-Identifier: BSD-2-Clause
#include "run/basis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "core/topo/link_speed.h"
#include "plan/units.h"

namespace softib::run {

namespace {

using plan::Pattern;
using topo::Generation;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

constexpr std::array kAll{
    Measured{"B14, L2", Pattern::kPairs, 2, 2, 8 * kMiB, 8 * kMiB, Generation::kEdr,
             Generation::kNdr, "ib_write_bw between two hosts, EDR to NDR"},
    Measured{"B25", Pattern::kIncast, 32, 32, 16 * kMiB, 17 * kMiB, Generation::kHdr,
             Generation::kHdr, "31 hosts of Leonardo to one, 512 MiB together, HDR"},
    Measured{"B20", Pattern::kAllToAll, 32, 32, 2 * kMiB, 2 * kMiB, Generation::kHdr,
             Generation::kHdr, "32 hosts of Leonardo, 2 MiB to each other, HDR"},
    Measured{"B23, B30, B31", Pattern::kRing, 4, 32, 8, 16 * kMiB, Generation::kHdr,
             Generation::kHdr, "all-gathers on 4 and 32 hosts of Leonardo, HDR"},
    Measured{"C5", Pattern::kSharpAllReduce, 128, 128, 8, 8, Generation::kEdr, Generation::kEdr,
             "128 hosts, EDR, a constant is fitted on it"},
    Measured{"C6", Pattern::kSharpAllReduce, 64, 64, 256 * kMiB, 256 * kMiB, Generation::kHdr,
             Generation::kHdr, "64 hosts, HDR"}};

/// The messages of one pattern in a run.
struct Messages {
    Pattern pattern;
    std::uint64_t hosts = 0;
    std::uint64_t bytes = 0;
};

bool is_within(const Measured& row, const Messages& messages, Generation generation) {
    return row.pattern == messages.pattern && messages.hosts >= row.hosts_min &&
           messages.hosts <= row.hosts_max && messages.bytes >= row.bytes_min &&
           messages.bytes <= row.bytes_max && generation >= row.slowest &&
           generation <= row.fastest;
}

/// Returns the generation of the links of HCAs: that of the first one.
Generation generation_of(const topo::Fabric& fabric) {
    for (const topo::Node& node : fabric.nodes) {
        if (node.kind == topo::NodeKind::kHca && node.ports.size() > 1) {
            return node.ports[1].generation;
        }
    }
    return Generation::kNdr;
}

/// Returns what validates messages of one pattern over InfiniBand.
std::string show_evidence(const Messages& messages, Generation generation) {
    std::string rows;
    bool within = false;
    for (const Measured& row : kAll) {
        if (row.pattern == messages.pattern) {
            rows += fmt::format("{}{} ({})", rows.empty() ? "" : ", ", row.rows, row.claim);
            within |= is_within(row, messages, generation);
        }
    }
    const char* const pattern = plan::to_string(messages.pattern);
    if (rows.empty()) {
        return fmt::format(
            "{}: no published measurement validates it; the nearest rows of docs/validation.md "
            "are {} ({})",
            pattern, kAll.front().rows, kAll.front().claim);
    }
    return fmt::format("{}: nearest rows of docs/validation.md: {}{}", pattern, rows,
                       within ? "" : "; hosts, sizes or links beyond these are not validated");
}

/// Returns the features of a run on InfiniBand that no row has, "congestion control, failures"; an
/// empty text if there are none.
std::string features_without_rows(const spec::Scenario& scenario,
                                  const net::SimulationOptions& options) {
    const struct {
        bool on;
        const char* name;
    } features[] = {{options.congestion.has_value(), "congestion control"},
                    {options.qos.on, "QoS"},
                    {!scenario.failures.empty(), "failures"},
                    {scenario.fabric.spec.routers != 0, "routers"},
                    {options.hosts.context_entries != 0, "caches of connections"},
                    {options.hosts.inject_block_ps != 0 || options.hosts.message_gap_ps != 0 ||
                         options.hosts.pcie_block_ps != 0,
                     "limits of adapters"}};
    std::string names;
    for (const auto& [on, name] : features) {
        if (on) {
            names += fmt::format("{}{}", names.empty() ? "" : ", ", name);
        }
    }
    return names;
}

std::string assumptions_of(const spec::Experiment& experiment, net::TimePs software) {
    const net::PlantConfig& plant = experiment.options.plant;
    const net::TimePs in_switch =
        net::switch_time(experiment.options, generation_of(experiment.fabric));
    return fmt::format(
        "assumed: {} in a switch, {} in a cable, {} in an adapter, {} of software a message; "
        "nothing else uses the fabric",
        plan::show_time(in_switch), plan::show_time(plant.cable_ps), plan::show_time(plant.hca_ps),
        plan::show_time(software));
}

}  // namespace

std::span<const Measured> all_measured() {
    return kAll;
}

std::vector<std::string> basis_of(const spec::Scenario& scenario,
                                  const spec::Experiment& experiment) {
    const net::SimulationOptions& options = experiment.options;
    const bool roce = options.roce.has_value();
    const bool flow = scenario.model == net::ModelKind::kFlow;
    std::vector<std::string> sentences;
    sentences.emplace_back(
        flow   ? "model flow: max-min fair rates of messages, without queues; docs/flow-model.md "
                 "has its errors against packets"
        : roce ? "model packet: every packet of RoCE moves, through switches' shared buffers"
               : "model packet: every packet moves, by credits and lanes");
    sentences.push_back(assumptions_of(experiment, 0));
    if (roce) {
        sentences.emplace_back(
            "no published measurement validates RoCE by packets; the nearest row of "
            "docs/validation.md is L1 (the part of a link that carries data)");
        return sentences;
    }
    for (const plan::Schedule& schedule : experiment.schedules) {
        const Pattern pattern = schedule.traffic().pattern;
        const bool receiver_apart = pattern == Pattern::kIncast || pattern == Pattern::kPairs;
        const Messages messages{
            .pattern = pattern,
            .hosts = std::uint64_t{schedule.sender_count()} + (receiver_apart ? 1 : 0),
            .bytes = schedule.bytes() / std::max<std::uint64_t>(schedule.messages(), 1)};
        sentences.push_back(show_evidence(messages, generation_of(experiment.fabric)));
    }
    if (const std::string features = features_without_rows(scenario, options); !features.empty()) {
        sentences.push_back(fmt::format("no row of docs/validation.md has {}", features));
    }
    return basis_of_all({{sentences}});
}

std::vector<std::string> basis_of(const spec::Experiment& experiment, const net::SharpTask& task) {
    const std::size_t members =
        task.members != 0 ? task.members : experiment.fabric.count(topo::NodeKind::kHca);
    return {"model packet: every packet of the tree moves, and switches add them up",
            assumptions_of(experiment, task.software_ps),
            show_evidence({Pattern::kSharpAllReduce, members, task.bytes},
                          generation_of(experiment.fabric))};
}

std::vector<std::string> basis_of_all(std::span<const std::vector<std::string>> each) {
    std::vector<std::string> all;
    for (const std::vector<std::string>& sentences : each) {
        for (const std::string& sentence : sentences) {
            if (std::ranges::find(all, sentence) == all.end()) {
                all.push_back(sentence);
            }
        }
    }
    return all;
}

}  // namespace softib::run
