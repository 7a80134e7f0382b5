// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/export/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <utility>

#include "core/topo/link_speed.h"

namespace softib::telemetry {

namespace {

constexpr std::uint64_t kWordBytes = 4;

/// The ports for which a counter is written.
enum class Told : std::uint8_t {
    kOfAll,
    /// Only ports of switches. What an HCA port sends is what the switch port at the other end of
    /// its cable receives, and the other way round.
    kOfSwitches,
    kUnlessZero,
    kOfNone,
};

/// The kinds of counters that differ in the ports for which they are written.
enum class Kind : std::uint8_t {
    kData,
    kPackets,
    kWait,
    kUnicast,  ///< Unicast packets, which are all packets less multicast packets.
    kOther,
};

Told told_by_node(Kind kind) {
    return kind == Kind::kUnicast ? Told::kOfNone
           : kind == Kind::kOther ? Told::kUnlessZero
                                  : Told::kOfAll;
}

Told told_by_cable(Kind kind, CounterChoice choice) {
    if (choice != CounterChoice::kBrief) {
        return told_by_node(kind);
    }
    return kind == Kind::kData                                ? Told::kOfSwitches
           : kind == Kind::kPackets || kind == Kind::kUnicast ? Told::kOfNone
                                                              : Told::kUnlessZero;
}

/// The name of a counter in the text by node.
struct NodeMetric {
    std::string_view counter;  ///< The counter's name in counters::kPortCounters.
    std::string_view suffix;   ///< The name after "infiniband_switch_port_".
    std::uint64_t unit = 1;
    Kind kind = Kind::kOther;
};
constexpr std::array<NodeMetric, 27> kNodeMetrics{{
    {"xmit_words", "transmit_data_bytes_total", kWordBytes, Kind::kData},
    {"rcv_words", "receive_data_bytes_total", kWordBytes, Kind::kData},
    {"xmit_packets", "transmit_packets_total", 1, Kind::kPackets},
    {"rcv_packets", "receive_packets_total", 1, Kind::kPackets},
    {"xmit_wait", "transmit_wait_total", 1, Kind::kWait},
    {"unicast_xmit_packets", "unicast_transmit_packets_total", 1, Kind::kUnicast},
    {"unicast_rcv_packets", "unicast_receive_packets_total", 1, Kind::kUnicast},
    {"multicast_xmit_packets", "multicast_transmit_packets_total"},
    {"multicast_rcv_packets", "multicast_receive_packets_total"},
    {"symbol_errors", "symbol_error_total"},
    {"link_recoveries", "link_error_recovery_total"},
    {"link_downed", "link_downed_total"},
    {"rcv_errors", "receive_errors_total"},
    {"rcv_remote_physical_errors", "receive_remote_physical_errors_total"},
    {"rcv_switch_relay_errors", "receive_switch_relay_errors_total"},
    {"xmit_discards", "transmit_discards_total"},
    {"xmit_constraint_errors", "transmit_constraint_errors_total"},
    {"rcv_constraint_errors", "receive_constraint_errors_total"},
    {"link_integrity_errors", "local_link_integrity_errors_total"},
    {"buffer_overruns", "excessive_buffer_overrun_errors_total"},
    {"vl15_dropped", "vl15_dropped_total"},
    {"qp1_dropped", "qp1_dropped_total"},
    {"local_physical_errors", "local_physical_errors_total"},
    {"malformed_packet_errors", "malformed_packet_errors_total"},
    {"dlid_mapping_errors", "dli_mapping_errors_total"},
    {"vl_mapping_errors", "vl_mapping_errors_total"},
    {"looping_errors", "looping_errors_total"},
}};

const counters::PortCounter<std::uint64_t>& row_of(std::string_view counter) {
    return *std::ranges::find(counters::kPortCounters, counter,
                              &counters::PortCounter<std::uint64_t>::name);
}

/// Returns the signalling rate of a lane as ibqueryerrors prints it, because the exporter whose
/// names the text by cable has takes it from there.
double lane_gbps(const Port& port) {
    for (const topo::GenerationRow& row : topo::kGenerationRows) {
        if (row.name == port.speed) {
            return static_cast<double>(row.signalling_kbps) / 1e6;
        }
    }
    return port.active_mbps / 1000.0 / std::max<std::uint32_t>(1, port.lanes);
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
    return out;
}

/// Writes one text of metrics.
class MetricsWriter {
  public:
    MetricsWriter(const Snapshot& snapshot, const MetricsOptions& options)
        : snapshot_(snapshot),
          inventory_(*snapshot.inventory),
          options_(options),
          choice_(options.counters) {
        if (choice_ == CounterChoice::kBySize) {
            choice_ =
                inventory_.ports.size() <= kFewPorts ? CounterChoice::kAll : CounterChoice::kBrief;
        }
        if (options.timestamps) {
            when_ = fmt::format(" {}", snapshot.sample.wall_us / 1000);
        }
    }

    std::string write() {
        if (options_.by_node) {
            make_labels([this](std::uint32_t i) { return node_labels(i); });
            for (const bool is_switch : {true, false}) {
                write_node_counters(is_switch);
                write_node_facts(is_switch);
            }
        }
        if (options_.by_cable) {
            make_labels([this](std::uint32_t i) { return cable_labels(i); });
            write_cable_counters();
        }
        write_status();
        return std::move(out_);
    }

  private:
    bool is_ours(std::uint32_t node) const { return node % options_.shards == options_.shard; }
    bool is_switch(std::uint32_t port) const {
        return inventory_.node_of(port).kind == topo::NodeKind::kSwitch;
    }
    void family(std::string_view name, std::string_view type, std::string_view help) {
        fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name,
                       type);
    }
    void line(std::string_view name, std::string_view labels, std::uint64_t value,
              std::string_view when = {}) {
        out_.append(name).append(labels);
        const fmt::format_int text(value);
        out_.append(text.data(), text.size()).append(when).push_back('\n');
    }
    template <typename Labels>
    void make_labels(Labels&& labels) {
        labels_.resize(inventory_.ports.size());
        for (std::uint32_t i = 0; i < labels_.size(); ++i) {
            labels_[i] = is_ours(inventory_.ports[i].node) ? labels(i) : std::string();
        }
    }
    std::string node_labels(std::uint32_t i) const {
        return fmt::format("{{guid=\"{}\",port=\"{}\"}} ", to_string(inventory_.node_of(i).guid),
                           inventory_.ports[i].number);
    }
    std::string cable_labels(std::uint32_t i) const {
        const Node& node = inventory_.node_of(i);
        const Port& port = inventory_.ports[i];
        const bool cabled = port.peer != kNoIndex;
        return fmt::format(
            "{{component=\"{}\",local_name=\"{}\",local_guid=\"{}\",local_port=\"{}\","
            "remote_guid=\"{}\",remote_port=\"{}\",remote_name=\"{}\"}} ",
            node.kind == topo::NodeKind::kSwitch ? "switch" : "ca",
            escape_label(description_of(node)), fmt::format("{:#x}", node.guid.value), port.number,
            cabled ? to_string(inventory_.node_of(port.peer).guid) : "",
            cabled ? std::to_string(inventory_.ports[port.peer].number) : "",
            cabled ? escape_label(description_of(inventory_.node_of(port.peer))) : "");
    }

    /// Returns whether a port has counters: it is in this shard, and has answered at least once.
    bool has_counts(std::uint32_t i) const {
        return !labels_[i].empty() && i < snapshot_.sample.counts.size() &&
               (snapshot_.sample.fresh[i] != 0 || snapshot_.sample.counts[i].rcv_packets != 0);
    }
    template <typename Chosen>
    void counter(const std::string& name, std::string_view help,
                 const counters::PortCounter<std::uint64_t>& row, std::uint64_t unit, Told told,
                 Chosen&& chosen) {
        told = choice_ == CounterChoice::kAll ? Told::kOfAll : told;
        if (told == Told::kOfNone) {
            return;
        }
        family(name, "counter", help);
        for (std::uint32_t i = 0; i < labels_.size(); ++i) {
            if (!has_counts(i) || !chosen(i) || (told == Told::kOfSwitches && !is_switch(i))) {
                continue;
            }
            const std::uint64_t value = value_of(row, snapshot_.sample.counts[i]) * unit;
            if (value != 0 || told != Told::kUnlessZero) {
                line(name, labels_[i], value, when_);
            }
        }
    }

    void write_node_counters(bool switches) {
        for (const NodeMetric& metric : kNodeMetrics) {
            const auto& row = row_of(metric.counter);
            counter(
                fmt::format("infiniband_{}_port_{}", switches ? "switch" : "hca", metric.suffix),
                fmt::format("{} of a port{}.", row.fields[0].name,
                            metric.unit == 1 ? "" : ", in bytes"),
                row, metric.unit, told_by_node(metric.kind),
                [&](std::uint32_t i) { return is_switch(i) == switches; });
        }
    }

    void write_node_facts(bool switches) {
        const char* const kind = switches ? "switch" : "hca";
        const auto bytes_per_second = [](const Port& port) {
            return std::uint64_t{port.active_mbps} * 1'000'000 / 8;
        };
        const std::string rate = switches ? "infiniband_switch_port_rate_bytes_per_second"
                                          : "infiniband_hca_rate_bytes_per_second";
        family(rate, "gauge", "Data rate of a link.");
        for (std::uint32_t i = 0; i < labels_.size(); ++i) {
            if (!labels_[i].empty() && is_switch(i) == switches) {
                const std::string labels =
                    switches
                        ? labels_[i]
                        : fmt::format("{{guid=\"{}\"}} ", to_string(inventory_.node_of(i).guid));
                line(rate, labels, bytes_per_second(inventory_.ports[i]));
            }
        }
        const std::string info = fmt::format("infiniband_{}_info", kind);
        family(info, "gauge", "Names of a node; its value is always 1.");
        for (std::uint32_t i = 0; i < inventory_.nodes.size(); ++i) {
            const Node& node = inventory_.nodes[i];
            if (is_ours(i) && (node.kind == topo::NodeKind::kSwitch) == switches) {
                line(info,
                     fmt::format("{{guid=\"{}\",{}=\"{}\",lid=\"{}\"}} ", to_string(node.guid),
                                 kind, escape_label(description_of(node)), node.lid.value),
                     1);
            }
        }
        const std::string uplink = fmt::format("infiniband_{}_uplink_info", kind);
        family(uplink, "gauge", "The other end of a port's cable; its value is always 1.");
        for (std::uint32_t i = 0; i < labels_.size(); ++i) {
            if (!labels_[i].empty() && is_switch(i) == switches &&
                inventory_.ports[i].peer != kNoIndex) {
                write_uplink(uplink, kind, i);
            }
        }
    }

    void write_uplink(const std::string& name, const char* kind, std::uint32_t i) {
        const Node& node = inventory_.node_of(i);
        const std::uint32_t peer = inventory_.ports[i].peer;
        const Node& other = inventory_.node_of(peer);
        line(name,
             fmt::format("{{guid=\"{}\",port=\"{}\",{}=\"{}\",uplink=\"{}\",uplink_guid=\"{}\","
                         "uplink_type=\"{}\",uplink_port=\"{}\",uplink_lid=\"{}\"}} ",
                         to_string(node.guid), inventory_.ports[i].number, kind,
                         escape_label(description_of(node)), escape_label(description_of(other)),
                         to_string(other.guid), other.kind == topo::NodeKind::kSwitch ? "SW" : "CA",
                         inventory_.ports[peer].number, other.lid.value),
             1);
    }

    void write_cable_counters() {
        for (const auto& row : counters::kPortCounters) {
            if (row.fields[0].name.empty()) {
                continue;
            }
            const auto metric = std::ranges::find(kNodeMetrics, row.name, &NodeMetric::counter);
            const Kind kind = metric == kNodeMetrics.end() ? Kind::kOther : metric->kind;
            counter(fmt::format("infiniband_{}_total", lower(row.fields[0].name)),
                    fmt::format("{} of a port{}.", row.fields[0].name,
                                row.unit == counters::Unit::kWords ? ", in words of 4 bytes" : ""),
                    row, 1, told_by_cable(kind, choice_), [](std::uint32_t) { return true; });
        }
        family("infiniband_speed", "gauge", "Signalling rate of one lane of a port, in Gbit/s.");
        for_each_link([&](std::uint32_t i, const Port& port) {
            fmt::format_to(std::back_inserter(out_), "infiniband_speed{}{}\n", labels_[i],
                           lane_gbps(port));
        });
        family("infiniband_width", "gauge", "Lanes of a port.");
        for_each_link([&](std::uint32_t i, const Port& port) {
            line("infiniband_width", labels_[i], port.lanes);
        });
    }
    /// Calls `fn` for each port for which the speed of its link is written. Both ends of a cable
    /// have the same speed, so a brief text has it for one switch port of each cable.
    template <typename Fn>
    void for_each_link(Fn&& fn) {
        for (std::uint32_t i = 0; i < labels_.size(); ++i) {
            const std::uint32_t peer = inventory_.ports[i].peer;
            const bool is_told = choice_ != CounterChoice::kBrief ||
                                 (is_switch(i) && (i < peer || !is_switch(peer)));
            if (!labels_[i].empty() && is_told) {
                fn(i, inventory_.ports[i]);
            }
        }
    }

    void write_status() {
        const bool good = snapshot_.trouble.empty() && snapshot_.number != 0;
        const std::size_t silent = snapshot_.sample.silent.size();
        const auto gauge = [&](std::string_view name, std::string_view help, double value) {
            family(name, "gauge", help);
            fmt::format_to(std::back_inserter(out_), "{} {}\n", name, value);
        };
        const auto by_collector = [&](std::string_view name, std::string_view help, double value) {
            family(name, "gauge", help);
            for (const char* const collector : {"switch", "hca"}) {
                fmt::format_to(std::back_inserter(out_), "{}{{collector=\"{}\"}} {}\n", name,
                               collector, value);
            }
        };
        if (options_.by_node) {
            by_collector("infiniband_exporter_collect_errors",
                         "Whether the fabric could not be read.", good ? 0 : 1);
            by_collector("infiniband_exporter_collect_timeouts", "Nodes that did not answer.",
                         static_cast<double>(silent));
            by_collector("infiniband_exporter_collector_duration_seconds",
                         "How long the last reading took.", snapshot_.read_seconds);
            by_collector("infiniband_exporter_last_execution", "When the fabric was read last.",
                         static_cast<double>(snapshot_.sample.wall_us) / 1e6);
        }
        if (options_.by_cable) {
            gauge("infiniband_scrape_ok", "Whether the fabric could be read.", good ? 1 : 0);
            gauge("infiniband_scrape_duration_seconds", "How long the last reading took.",
                  snapshot_.read_seconds);
        }
        gauge("softib_telemetry_up", "Whether the fabric could be read.", good ? 1 : 0);
        gauge("softib_telemetry_sample_timestamp_seconds", "When the fabric was read last.",
              static_cast<double>(snapshot_.sample.wall_us) / 1e6);
        if (!options_.checks.empty()) {
            family("softib_health_severity", "gauge",
                   "The verdict of a check: 0 passed, 1 warning, 2 minor, 3 critical.");
            for (const Check& check : options_.checks) {
                line("softib_health_severity", fmt::format("{{check=\"{}\"}} ", check.name),
                     static_cast<std::uint64_t>(check.severity));
            }
            family("softib_health_objects", "gauge", "How many objects have failed a check.");
            for (const Check& check : options_.checks) {
                line("softib_health_objects", fmt::format("{{check=\"{}\"}} ", check.name),
                     check.objects.size());
            }
        }
        family("softib_telemetry_node_silent", "gauge",
               "Nodes that did not answer; the value is always 1.");
        for (const std::string& node : snapshot_.sample.silent) {
            line("softib_telemetry_node_silent",
                 fmt::format("{{node=\"{}\"}} ", escape_label(node)), 1);
        }
    }

    const Snapshot& snapshot_;
    const Inventory& inventory_;
    const MetricsOptions& options_;
    CounterChoice choice_;
    std::string when_;                 ///< The time stamp that follows the value of a counter.
    std::vector<std::string> labels_;  ///< Labels by port; empty: the port is not in this shard.
    std::string out_;
};

}  // namespace

std::string escape_label(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\' || c == '"') {
            out.push_back('\\');
            out.push_back(c);
        } else if (c == '\n') {
            out += "\\n";
        } else if (static_cast<unsigned char>(c) >= 0x20 && static_cast<unsigned char>(c) < 0x7F) {
            out.push_back(c);
        } else {
            out.push_back('?');  // A NodeDescription may have any bytes.
        }
    }
    return out;
}

std::optional<CounterChoice> counter_choice(std::string_view name) {
    using enum CounterChoice;
    constexpr std::array<std::pair<std::string_view, CounterChoice>, 3> kNames{
        {{"brief", kBrief}, {"traffic", kTraffic}, {"all", kAll}}};
    const auto* const found =
        std::ranges::find(kNames, name, &std::pair<std::string_view, CounterChoice>::first);
    return found == kNames.end() ? std::nullopt : std::optional(found->second);
}

std::string metrics_text(const Snapshot& snapshot, const MetricsOptions& options) {
    return MetricsWriter(snapshot, options).write();
}

}  // namespace softib::telemetry
