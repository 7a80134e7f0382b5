// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Nodes of Chakra's execution traces (schema/protobuf/et_def.proto of mlcommons/chakra), from files
// of protobuf or of JSON.

#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <vector>

#include "spec/trace/trace_file.h"

namespace softib::spec::chakra {

enum NodeType : std::uint8_t {
    kMetadata = 1,
    kMemLoad = 2,
    kMemStore = 3,
    kComp = 4,
    kCommSend = 5,
    kCommRecv = 6,
    kCommColl = 7,
};

struct Node {
    std::uint64_t id = 0;
    std::string name = {};
    std::uint64_t type = 0;
    std::vector<std::uint64_t> data_deps = {};
    std::vector<std::uint64_t> ctrl_deps = {};
    std::uint64_t duration_us = 0;
    std::map<std::string, std::uint64_t, std::less<>> numbers = {};  ///< Attributes with numbers.
    std::map<std::string, std::string, std::less<>> texts = {};      ///< Attributes with texts.
    std::size_t offset = 0;  ///< Its place in the file: a byte, or the number of the node in JSON.
};

/// Groups of ranks by name.
using Groups = std::map<std::string, std::vector<std::uint32_t>, std::less<>>;

std::expected<std::vector<Node>, std::string> parse_binary(const TraceText& file);
std::expected<std::vector<Node>, std::string> parse_json(const TraceText& file);
/// Parses the groups of a file {"name": [ranks]}.
std::expected<Groups, std::string> parse_groups(const TraceText& file);
/// Adds the groups that METADATA nodes describe as JSON to `groups`.
void collect_groups(const std::vector<Node>& nodes, Groups& groups);

}  // namespace softib::spec::chakra
