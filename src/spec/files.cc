// SPDX-License-Identifier: BSD-2-Clause
// Reads descriptions, and the files that they name, from disk.
#include <fmt/format.h>

#include <filesystem>

#include "spec/description.h"
#include "spec/text_file.h"

namespace softib::spec {

Result load_description(const std::string& file, Description& description) {
    const auto text = read_file(file);
    if (!text) {
        return std::unexpected(text.error());
    }
    if (auto parsed = parse_description(*text, file, description); !parsed) {
        return parsed;
    }
    // Paths are relative to the folder of the file; an absolute path stays as it is.
    const std::filesystem::path folder = std::filesystem::path(file).parent_path();
    if (!description.lid_file.empty()) {
        description.lid_file = std::filesystem::absolute(folder / description.lid_file);
    }
    if (!description.trunk_key.empty()) {
        description.trunk_key = std::filesystem::absolute(folder / description.trunk_key);
    }
    if (!description.partitions.empty()) {
        description.partitions = folder / description.partitions;
        if (auto loaded = load_partitions(description); !loaded) {
            return loaded;
        }
    }
    if (description.from.empty()) {
        return {};
    }
    description.from = folder / description.from;
    return load_netlist(description);
}

Result load_partitions(Description& description) {
    auto text = read_file(description.partitions);
    if (!text) {
        return std::unexpected(text.error());
    }
    auto parsed = sm::parse_partitions(*text);
    if (!parsed) {
        return std::unexpected(fmt::format("{}:{}: {}", description.partitions, parsed.error().line,
                                           parsed.error().message));
    }
    description.partitions_text = std::move(*text);
    description.partition_rules = std::move(*parsed);
    return {};
}

Result load_netlist(Description& description) {
    auto text = read_file(description.from);
    if (!text) {
        return std::unexpected(text.error());
    }
    description.netlist = std::move(*text);
    return {};
}

}  // namespace softib::spec
