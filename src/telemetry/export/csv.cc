// SPDX-License-Identifier: BSD-2-Clause
#include "telemetry/export/csv.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

namespace softib::telemetry {

namespace {

constexpr std::size_t kTrafficRows = counters::make_traffic_counters<std::uint64_t>().size();

/// Returns the name of a counter in UFM's telemetry; empty if it has none.
std::string ufm_name(std::size_t row) {
    const auto& counter = counters::kPortCounters[row];
    const std::string name(counter.fields[0].name);
    const bool extended = row + 1 < kTrafficRows || counter.name == "link_downed" ||
                          counter.name == "link_recoveries";
    return name.empty() || !extended ? name : name + "Extended";
}

}  // namespace

std::string csv_field(std::string_view text) {
    if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
        return std::string(text);
    }
    std::string out = "\"";
    for (const char c : text) {
        out += c == '"' ? "\"\"" : std::string(1, c);
    }
    return out + '"';
}

std::optional<std::string> csv_text(const Snapshot& snapshot, const CsvOptions& options) {
    if (options.set != "metrics" && options.set != "minimal") {
        return std::nullopt;
    }
    const std::size_t rows =
        options.set == "minimal" ? kTrafficRows : counters::kPortCounters.size();
    const Inventory& inventory = *snapshot.inventory;
    std::string out =
        "timestamp,source_id,tag,Node_GUID,port_guid,Port_Number,node_description,"
        "active_speed,active_width,state";
    for (std::size_t row = 0; row < rows; ++row) {
        if (const std::string name = ufm_name(row); !name.empty()) {
            out += ',' + name;
        }
    }
    out += '\n';
    for (std::uint32_t i = 0; i < snapshot.sample.counts.size(); ++i) {
        const Port& port = inventory.ports[i];
        const Node& node = inventory.node_of(i);
        if (port.guid.value % options.shards != options.shard) {
            continue;
        }
        fmt::format_to(std::back_inserter(out), "{},softib,,{},{},{},{},{},{}x,{}",
                       snapshot.sample.wall_us, to_string(node.guid), to_string(port.guid),
                       port.number, csv_field(node.name), port.speed, port.lanes,
                       snapshot.sample.states[i] == PortState::kActive ? "Active" : "Down");
        for (std::size_t row = 0; row < rows; ++row) {
            if (!counters::kPortCounters[row].fields[0].name.empty()) {
                out += ',';
                out += fmt::format_int(
                           value_of(counters::kPortCounters[row], snapshot.sample.counts[i]))
                           .c_str();
            }
        }
        out += '\n';
    }
    return out;
}

}  // namespace softib::telemetry
