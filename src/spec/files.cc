// SPDX-License-Identifier: BSD-2-Clause
// Reads descriptions, and the files that they name, from disk.
#include <fmt/format.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <vector>

#include "spec/description.h"

namespace softib::spec {

namespace {

constexpr std::size_t kFileBytesMax = std::size_t{256} << 20;

std::expected<std::string, std::string> read_file(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    std::string text;
    std::vector<char> piece(std::size_t{1} << 20);
    // Read piece by piece, because some files (/dev/zero) never end.
    while (in.read(piece.data(), static_cast<std::streamsize>(piece.size())) || in.gcount() > 0) {
        text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
        if (text.size() > kFileBytesMax) {
            return std::unexpected(fmt::format("{} is larger than {} MiB: is it the right file?",
                                               file, kFileBytesMax >> 20));
        }
    }
    if (!in.eof()) {
        return std::unexpected(
            fmt::format("cannot read {}: {}", file, std::generic_category().message(errno)));
    }
    return text;
}

}  // namespace

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
