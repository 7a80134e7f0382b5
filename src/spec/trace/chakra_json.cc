// SPDX-License-Identifier: BSD-2-Clause
// Reads Chakra's traces as JSON: that of the feeder ("workload_graph", "Id", "ctrlDeps"), and that
// which protobuf's own printer writes ("id", "dataDeps", "attr").
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "spec/trace/chakra.h"
#include "spec/trace/json_reader.h"

namespace softib::spec::chakra {

namespace {

std::uint64_t node_type_in(const TraceJson& value) {
    constexpr std::array<std::string_view, 8> kTypes{
        "INVALID_NODE", "METADATA_NODE",  "MEM_LOAD_NODE",  "MEM_STORE_NODE",
        "COMP_NODE",    "COMM_SEND_NODE", "COMM_RECV_NODE", "COMM_COLL_NODE"};
    const auto found = std::ranges::find(kTypes, text_in(value));
    return found != kTypes.end() ? static_cast<std::uint64_t>(found - kTypes.begin())
                                 : whole_in(value).value_or(0);
}

void put_value(Node& node, const std::string& name, const TraceJson& value) {
    const auto number = whole_in(value);
    if (number && (!value.is_string() || name != "pg_name")) {
        node.numbers[name] = *number;
    } else if (value.is_string()) {
        node.texts[name] = value.get<std::string>();
    }
}

Node node_in(const TraceJson& json) {
    Node node;
    node.id = whole_in(member(json, {"id", "Id"})).value_or(0);
    node.name = text_in(member(json, {"name", "Name"}));
    node.type = node_type_in(member(json, {"type", "NodeType", "node_type"}));
    node.ctrl_deps = wholes_in(member(json, {"ctrl_deps", "ctrlDeps"}));
    node.data_deps = wholes_in(member(json, {"data_deps", "dataDeps"}));
    node.duration_us =
        whole_in(member(json, {"duration_micros", "durationMicros", "runtime"})).value_or(0);
    const TraceJson& attributes = member(json, {"attr", "attrs"});
    if (attributes.is_array()) {
        for (const TraceJson& each : attributes) {
            const std::string name = text_in(member(each, {"name"}));
            for (const auto& [key, value] : each.items()) {
                if (key != "name" && !key.starts_with("doc")) {
                    put_value(node, name, value);
                }
            }
        }
    }
    for (const char* const name : {"is_cpu_op", "num_ops", "tensor_size", "comm_type", "comm_size",
                                   "comm_src", "comm_dst", "comm_tag", "root", "pg_name"}) {
        put_value(node, name, member(json, {name}));
    }
    return node;
}

void add_group(const std::string& name, const TraceJson& list, Groups& groups) {
    std::vector<std::uint32_t> ranks;
    for (const std::uint64_t rank : wholes_in(list)) {
        ranks.push_back(static_cast<std::uint32_t>(std::min<std::uint64_t>(rank, UINT32_MAX - 1)));
    }
    if (!name.empty() && !ranks.empty()) {
        groups.try_emplace(name, std::move(ranks));
    }
}

}  // namespace

std::expected<std::vector<Node>, std::string> parse_json(const TraceText& file) {
    const auto json = parse_trace_json(file);
    if (!json) {
        return std::unexpected(json.error());
    }
    if (!member(*json, {"schema"}).is_null()) {
        return std::unexpected(fmt::format(
            "{}: this is PyTorch's execution trace, which has no times: link it with the "
            "profiler's trace by chakra_trace_link, or read the profiler's trace itself",
            file.file));
    }
    const TraceJson& list =
        json->is_array() ? *json : member(*json, {"workload_graph", "nodes", "node"});
    if (!list.is_array()) {
        return std::unexpected(
            fmt::format("{}: a list of nodes named workload_graph or nodes is missing", file.file));
    }
    std::vector<Node> nodes;
    for (const TraceJson& each : list) {
        if (!each.is_object()) {
            return std::unexpected(
                fmt::format("{}: node {} of the list is no object", file.file, nodes.size()));
        }
        nodes.push_back(node_in(each));
        nodes.back().offset = nodes.size() - 1;
    }
    return nodes;
}

std::expected<Groups, std::string> parse_groups(const TraceText& file) {
    const auto json = parse_trace_json(file);
    if (!json) {
        return std::unexpected(json.error());
    }
    Groups groups;
    if (json->is_object()) {
        for (const auto& [name, ranks] : json->items()) {
            add_group(name, ranks, groups);
        }
    }
    if (groups.empty()) {
        return std::unexpected(
            fmt::format("{}: groups are expected as {{\"name\": [ranks]}}", file.file));
    }
    return groups;
}

void collect_groups(const std::vector<Node>& nodes, Groups& groups) {
    for (const Node& node : nodes) {
        if (node.type != kMetadata) {
            continue;
        }
        for (const auto& [attribute, text] : node.texts) {
            const auto json = parse_trace_json({.file = attribute, .text = text});
            if (!json) {
                continue;
            }
            const auto add = [&groups](const TraceJson& each) {
                add_group(text_in(member(each, {"pg_name"})), member(each, {"ranks"}), groups);
            };
            if (json->is_array()) {
                std::ranges::for_each(*json, add);
            } else {
                add(*json);
            }
        }
    }
}

}  // namespace softib::spec::chakra
